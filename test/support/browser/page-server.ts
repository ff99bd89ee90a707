/**
 * Serves the sample pages as the gateway does: with the real headers and assets, and a form target that records posts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants } from 'node:zlib'
import { assetCacheControl } from '#pages/assets.ts'
import { securityHeaders } from '#pages/security-headers.ts'
import {
  type SampleWish,
  sampleAssets,
  sampleFrame,
  samples,
  shopUrl,
} from '#test/support/browser/page-samples.ts'

export interface PageServer {
  readonly url: string
  /** Every form that was posted, oldest first. */
  readonly posted: { readonly path: string; readonly fields: URLSearchParams; readonly isJson: boolean }[]
  /** The answer to posts that accept JSON; by default a redirect to /paid. */
  answer: () => Promise<{ readonly status: number; readonly body: unknown }>
  readonly close: () => Promise<void>
}

const toPaid = async () => ({ status: 200, body: { redirect: '/paid' } })

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

async function sendAsset(path: string, response: ServerResponse): Promise<boolean> {
  const asset = sampleAssets.byUrl.get(path)
  if (asset === undefined) return false
  const packed = await asset.brotli()
  response
    .writeHead(200, {
      'content-type': asset.contentType,
      'content-encoding': 'br',
      'cache-control': assetCacheControl,
      'x-content-type-options': 'nosniff',
    })
    .end(packed)
  return true
}

export async function startPageServer(wish: SampleWish = {}): Promise<PageServer> {
  const posted: PageServer['posted'] = []
  const headers = securityHeaders({ formActions: [shopUrl], theme: wish.theme, tls: false })
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    if (await sendAsset(path, response)) return
    if (request.method === 'POST') {
      const isJson = request.headers.accept === 'application/json'
      posted.push({ path, fields: new URLSearchParams(await readBody(request)), isJson })
      if (!isJson) {
        response.writeHead(303, { ...headers, location: '/paid' }).end()
        return
      }
      const { status, body } = await server.answer()
      response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    const render = samples[path.slice(1)]
    const html = render?.(sampleFrame(wish)) ?? 'nothing here'
    response
      .writeHead(render === undefined ? 404 : 200, {
        ...headers,
        'content-type': 'text/html; charset=utf-8',
        'content-encoding': 'br',
      })
      // 4: a tenth of the time of the best packing, and the budget of the first load holds with it too.
      .end(brotliCompressSync(html, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }))
  }
  const listener: Server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  const server: PageServer = {
    url: `http://127.0.0.1:${port}`,
    posted,
    answer: toPaid,
    close: () =>
      new Promise(resolve => {
        listener.close(() => resolve())
        listener.closeAllConnections()
      }),
  }
  return server
}
