/** The files of the pages, the script for shops, and the signed list of the files that a page loads. */

import type { PageAnswer, PageRequest, PageRoute } from '#http/server/page-routes.ts'
import { accepts } from '#http/server/send.ts'
import {
  type Asset,
  type Assets,
  assetCacheControl,
  assetFolder,
  describeInventory,
  embedFolder,
} from '#pages/assets.ts'
import type { PageDeps } from '#pages/hosted.ts'
import type { PageContext } from '#pages/page-context.ts'

/** Paths and what they answer; all are read with GET. */
export const fileRoutes = (
  pageContext: PageContext,
  deps: PageDeps,
): readonly (readonly [path: string, handle: PageRoute['handle']])[] => [
  [`${assetFolder}/{file}`, request => sendAsset(request, pageContext)],
  [`${embedFolder}/{file}`, request => sendEmbed(request, pageContext)],
  ['/.well-known/payment-page-inventory.json', async () => sendInventory(pageContext.assets, deps)],
  ['/.well-known/security.txt', async () => sendSecurityText(deps)],
]

const codings = [
  ['br', 'brotli'],
  ['gzip', 'gzip'],
] as const

async function sendAsset(request: PageRequest, pageContext: PageContext): Promise<PageAnswer> {
  const asset = pageContext.assets.byUrl.get(`${assetFolder}/${request.params.file}`)
  return asset ? sendFile(request, asset) : pageContext.deadEnd(request, 'unknown')
}

/** Five minutes at the address without a hash, so that a shop that names no hash gets a new version soon. */
const embedCacheControl = 'public, max-age=300'

/** Every site may load it: browsers check its hash only when it may be read across origins. */
async function sendEmbed(request: PageRequest, { assets, deadEnd }: PageContext): Promise<PageAnswer> {
  const { file } = request.params
  const isNamed = file === assets.embed.name
  const asset = isNamed ? assets.embed : assets.byUrl.get(`${embedFolder}/${file}`)
  if (!asset) return deadEnd(request, 'unknown')
  const sent = await sendFile(request, asset)
  const headers = {
    ...sent.headers,
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    ...(isNamed ? { 'cache-control': embedCacheControl } : {}),
  }
  return { ...sent, headers }
}

async function sendFile(request: PageRequest, asset: Asset): Promise<PageAnswer> {
  const coding = codings.find(([name]) => accepts(request.headers['accept-encoding'], name))
  return {
    status: 200,
    contentType: asset.contentType,
    body: coding ? await asset[coding[1]]() : asset.body,
    headers: {
      'cache-control': assetCacheControl,
      vary: 'accept-encoding',
      ...(coding ? { 'content-encoding': coding[0] } : {}),
    },
  }
}

/** Signed, so that `tollgate verify-page` can detect a list that was replaced. */
function sendInventory(assets: Assets, { signInventory }: PageDeps): PageAnswer {
  const inventory = describeInventory(assets)
  const signature = signInventory(JSON.stringify(inventory))
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ ...inventory, signature }),
  }
}

function sendSecurityText({ engine, origin, securityContact }: PageDeps): PageAnswer {
  const body = writeSecurityText({ contact: securityContact, origin: origin() }, engine.clock.nowMs())
  return { status: 200, contentType: 'text/plain; charset=utf-8', body }
}

/** 180 days: the standard asks for less than a year, and it is made anew with every request. */
const validMs = 180 * 24 * 60 * 60 * 1000

interface SecurityContact {
  /** An address such as mailto:security@example.com; RFC 2142's own name at our host unless given. */
  readonly contact?: string | undefined
  /** The origin that others see. */
  readonly origin: string
}

/** `/.well-known/security.txt` (RFC 9116): the contact for reports of security problems. */
function writeSecurityText({ contact, origin }: SecurityContact, nowMs: number): string {
  const host = URL.canParse(origin) ? new URL(origin).hostname : 'localhost'
  return [
    `Contact: ${contact ?? `mailto:security@${host}`}`,
    `Expires: ${new Date(nowMs + validMs).toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${origin}/.well-known/security.txt`,
    '',
  ].join('\n')
}
