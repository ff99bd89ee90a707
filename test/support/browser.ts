/** Finds and starts a Chromium for tests: the one named, one of the system, else the one from npm (linux on x64 only). */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const systemPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

interface Found {
  readonly executablePath: string
  readonly args: readonly string[]
}

async function findChromium(): Promise<Found | string> {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') {
    return existsSync(named)
      ? { executablePath: named, args: [] }
      : `CHROMIUM_PATH names ${named}, which is not there`
  }
  const installed = systemPaths.find(path => existsSync(path))
  if (installed !== undefined) return { executablePath: installed, args: [] }
  if (process.platform === 'linux' && process.arch === 'x64') {
    const { default: packed } = await import('@sparticuz/chromium')
    return { executablePath: await packed.executablePath(), args: packed.args }
  }
  return `no Chromium on this machine (${process.platform} ${process.arch}); install one or set CHROMIUM_PATH`
}

/** The sandbox refuses to work for root, and containers often have a tiny /dev/shm. */
const safeEverywhere = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

/** A running browser, or the reason why there is none. */
export async function launchBrowser(): Promise<Browser | string> {
  const found = await findChromium()
  if (typeof found === 'string') return found
  return chromium.launch({
    executablePath: found.executablePath,
    args: [...new Set([...found.args, ...safeEverywhere])],
    headless: true,
  })
}
