/**
 * Shows the sample pages to developers: `node tools/preview-pages.ts` serves them, with a folder it saves screenshots.
 */
import { mkdirSync } from 'node:fs'
import { findLanguage } from '#pages/language.ts'
import { launchBrowser } from '#test/support/browser/browser.ts'
import { samples } from '#test/support/browser/page-samples.ts'
import { startPageServer } from '#test/support/browser/page-server.ts'

const [folder, tag = 'en', only] = process.argv.slice(2)
const server = await startPageServer({ language: findLanguage(tag) })

const viewports = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } }

async function saveScreenshots(into: string): Promise<void> {
  mkdirSync(into, { recursive: true })
  const browser = await launchBrowser()
  if (typeof browser === 'string') throw new Error(browser)
  for (const [device, viewport] of Object.entries(viewports)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport, colorScheme, deviceScaleFactor: 1 })
      for (const name of Object.keys(samples).filter(
        one => only === undefined || only.split(',').includes(one),
      )) {
        await page.goto(`${server.url}/${name}`)
        await page.screenshot({ path: `${into}/${name}-${device}-${colorScheme}.png`, fullPage: true })
      }
      await page.close()
    }
  }
  await browser.close()
  await server.close()
}

if (folder === undefined) for (const name of Object.keys(samples)) console.log(`${server.url}/${name}`)
else await saveScreenshots(folder)
