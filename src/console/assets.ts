/** The style, the script and the icon of the console, read once; their addresses hold their hash, as those of the payment pages do. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

export interface ConsoleAsset {
  readonly url: string
  readonly contentType: string
  readonly body: Buffer
  readonly gzip: Buffer
  readonly integrity: string
}

export interface ConsoleAssets {
  readonly style: ConsoleAsset
  readonly script: ConsoleAsset
  readonly icon: ConsoleAsset
}

/** The payment pages' own colours and fonts come first: one set of design tokens for both. */
const sources = {
  style: {
    parts: ['../pages/browser/style/base.css', 'browser/console.css'],
    name: 'console.css',
    type: 'text/css',
  },
  script: { parts: ['browser/console.js'], name: 'console.js', type: 'text/javascript' },
  icon: { parts: ['../pages/browser/icon.svg'], name: 'icon.svg', type: 'image/svg+xml' },
} as const

function make({ parts, name, type }: (typeof sources)[keyof typeof sources]): ConsoleAsset {
  const text = parts.map(part => readFileSync(new URL(part, import.meta.url), 'utf8')).join('\n')
  const body = Buffer.from(text)
  const digest = createHash('sha384').update(body).digest()
  const [stem, extension] = name.split('.')
  return {
    url: `/console/assets/${stem}-${digest.toString('base64url').slice(0, 12)}.${extension}`,
    contentType: `${type}; charset=utf-8`,
    body,
    gzip: gzipSync(body, { level: 9 }),
    integrity: `sha384-${digest.toString('base64')}`,
  }
}

let loaded: ConsoleAssets | undefined

export function loadConsoleAssets(): ConsoleAssets {
  loaded ??= { style: make(sources.style), script: make(sources.script), icon: make(sources.icon) }
  return loaded
}
