/** Finds and starts a Chromium for tests: the one named, the one from npm (linux on x64 only), else one of the system. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** The headless shell comes first: it needs about half the processor time of a whole Chromium. */
const systemPaths = [
  '/usr/bin/chromium-headless-shell',
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

const nodeModules = join(import.meta.dirname, '..', '..', '..', 'node_modules')

/**
 * Unpacked once, beside the packages: it takes two seconds of a processor. Every process unpacks into a folder of its
 * own and then gives it the common name, so that no process starts a half-written file.
 */
async function unpackChromium(): Promise<string> {
  const { version } = createRequire(import.meta.url)(
    join(nodeModules, '@sparticuz', 'chromium', 'package.json'),
  ) as { version: string }
  const folder = join(nodeModules, '.cache', `chromium-${version}`)
  if (existsSync(folder)) return folder
  const own = `${folder}-${process.pid}`
  mkdirSync(own, { recursive: true })
  try {
    await inflateInto(own)
    // Another process was first if the name is taken; its copy is as good.
    if (!existsSync(folder)) renameSync(own, folder)
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
  return folder
}

/**
 * The package is made for bare machines: when its environment variables say so, it also unpacks the libraries and fonts
 * that Chromium needs. Afterwards the environment of this process is restored.
 */
async function inflateInto(folder: string): Promise<void> {
  const before = { ...process.env }
  try {
    Object.assign(process.env, { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' })
    const { default: packed } = await import('@sparticuz/chromium')
    await packed.executablePath()
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** The sandbox refuses to work for root, and containers often have a tiny /dev/shm. */
const safeEverywhere = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']

const launch = ({ executablePath, env }: Found): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [...safeEverywhere],
    headless: true,
    ...(env ? { env: { ...process.env, ...env } as Record<string, string> } : {}),
  })

/** A browser that works on this machine, or the reason why it does not: some start and then cannot show a page. */
async function tryLaunch(found: Found): Promise<Browser | string> {
  let browser: Browser | undefined
  try {
    browser = await launch(found)
    const page = await browser.newPage()
    await page.goto('data:text/html,<title>shown</title>')
    await page.context().close()
    return browser
  } catch (error) {
    await browser?.close()
    return String(error).split('\n')[0] ?? ''
  }
}

/**
 * The one from npm comes first: it has no window, not even a hidden one, and takes a third of the processor that a whole
 * Chromium takes for the same tests. Its own libraries and fonts are for machines that have none.
 */
async function launchAny(): Promise<Browser | string> {
  const installed = systemPaths.find(path => existsSync(path))
  const hasPacked = process.platform === 'linux' && process.arch === 'x64'
  const folder = hasPacked ? await unpackChromium() : ''
  const executablePath = join(folder, 'chromium')
  if (hasPacked) {
    const browser = await tryLaunch({ executablePath })
    if (typeof browser !== 'string') return browser
  }
  // A browser of the system must work.
  if (installed !== undefined) return launch({ executablePath: installed })
  if (!hasPacked)
    return `no Chromium on this machine (${process.platform} ${process.arch}); install one or set CHROMIUM_PATH`
  const env = { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_PATH: join(folder, 'fonts') }
  const browser = await tryLaunch({ executablePath, env })
  return typeof browser === 'string'
    ? `the Chromium from npm does not work on this machine: ${browser}`
    : browser
}

/** A running browser, or the reason why there is none. */
export async function launchBrowser(): Promise<Browser | string> {
  const named = process.env.CHROMIUM_PATH
  if (named === undefined || named === '') return launchAny()
  if (!existsSync(named)) return `CHROMIUM_PATH names ${named}, which is not there`
  return launch({ executablePath: named })
}
