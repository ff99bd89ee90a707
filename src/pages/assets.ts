/**
 * The files that the pages load, read once at the start: style, script, icon. Their addresses contain their hash, so
 * they may be cached for ever; the page repeats the hash, so the browser runs nothing else. No other origin is ever
 * contacted.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export interface Asset {
  readonly name: string
  /** Path on our origin. */
  readonly url: string
  readonly contentType: string
  readonly body: Buffer
  /** Compressed on first request, outside the event loop: the best compression takes a tenth of a second. */
  readonly brotli: () => Promise<Buffer>
  readonly gzip: () => Promise<Buffer>
  /** For `integrity`: sha384-… */
  readonly integrity: string
  readonly purpose: string
}

export interface Assets {
  readonly style: Asset
  readonly script: Asset
  readonly icon: Asset
  /** Loaded by shops, not by our pages; the same file also has an address without its hash. */
  readonly embed: Asset
  /** By path. */
  readonly byUrl: ReadonlyMap<string, Asset>
}

/** The folder of the assets; the route must serve everything in `byUrl`. */
export const assetFolder = '/pay/assets'

/** The folder of the script for shops. */
export const embedFolder = '/js'

/** A year: other content has another address. */
export const assetCacheControl = 'public, max-age=31536000, immutable'

/** In this order: later styles may refine earlier ones. */
const styles = ['base', 'frame', 'choices', 'fields', 'buttons', 'sheets', 'media']
const scripts = ['entries.js', 'frame.js', 'card-fields.js', 'page.js']

const sources = [
  {
    name: 'page.css',
    parts: styles.map(name => `style/${name}.css`),
    contentType: 'text/css; charset=utf-8',
    purpose: 'How the payment pages look.',
  },
  {
    name: 'page.js',
    parts: scripts,
    contentType: 'text/javascript; charset=utf-8',
    purpose:
      'Helps with filling in: groups digits, checks entries, sends the form once. Sends data to this origin only; the pages work without it.',
  },
  {
    name: 'icon.svg',
    parts: ['icon.svg'],
    contentType: 'image/svg+xml',
    purpose: 'The sign in the browser tab.',
  },
  {
    name: 'tollgate.js',
    parts: ['tollgate.js'],
    contentType: 'text/javascript; charset=utf-8',
    purpose: "For the shop's own page: shows the checkout or card fields in a frame.",
  },
] as const

type Source = (typeof sources)[number]

const readPart = (path: string): string => readFileSync(new URL(`browser/${path}`, import.meta.url), 'utf8')

/**
 * The parts of a script become one file, because a page can vouch by hash only for the file it names, not for what that
 * one imports. Whatever a part imports is among the parts before it.
 */
const joinParts = (parts: readonly string[]): string =>
  parts
    .map(readPart)
    .join('\n')
    .replace(/^import [^']*'[^']*'$/gm, '')
    .replace(/^export /gm, '')

const packBrotli = promisify(brotliCompress)
const packGzip = promisify(gzip)

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

function makeAsset({ name, parts, contentType, purpose }: Source, folder: string): Asset {
  const body = Buffer.from(joinParts(parts))
  const digest = createHash('sha384').update(body).digest()
  const [stem, extension] = name.split('.')
  // 12 characters of the hash: enough to distinguish the versions of one file.
  const url = `${folder}/${stem}-${digest.toString('base64url').slice(0, 12)}.${extension}`
  return {
    name,
    url,
    contentType,
    purpose,
    body,
    brotli: once(() => packBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })),
    gzip: once(() => packGzip(body, { level: 9 })),
    integrity: `sha384-${digest.toString('base64')}`,
  }
}

const loaded = new Map<string, Assets>()

/** Read once per process. */
export function loadAssets(folder: string = assetFolder): Assets {
  const known = loaded.get(folder)
  if (known) return known
  const assets = readAssets(folder)
  loaded.set(folder, assets)
  return assets
}

function readAssets(folder: string): Assets {
  const [style, script, icon, embed] = [
    makeAsset(sources[0], folder),
    makeAsset(sources[1], folder),
    makeAsset(sources[2], folder),
    makeAsset(sources[3], embedFolder),
  ]
  const byUrl = new Map([style, script, icon, embed].map(asset => [asset.url, asset]))
  return { style, script, icon, embed, byUrl }
}

export interface InventoryEntry {
  readonly name: string
  readonly kind: 'script' | 'stylesheet'
  readonly url: string
  readonly integrity: string
  readonly bytes: number
  readonly purpose: string
}

/**
 * The list of scripts and styles that a payment page may load, as PCI DSS 6.4.3 and 11.6.1 require. A merchant's theme
 * adds a style element of a few variables; it is named by its hash in the policy of the page itself.
 */
export const describeInventory = ({
  script,
  style,
}: Assets): { readonly files: readonly InventoryEntry[] } => ({
  files: [
    { asset: script, kind: 'script' as const },
    { asset: style, kind: 'stylesheet' as const },
  ].map(({ asset: { name, url, integrity, body, purpose }, kind }) => ({
    name,
    kind,
    url,
    integrity,
    bytes: body.length,
    purpose,
  })),
})
