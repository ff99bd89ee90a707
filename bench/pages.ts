/**
 * The checkout page: the size of a first visit, the server's time for one, the rate of rendering from a stored payment,
 * and the rate over HTTP against a bare route that returns the same bytes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import { type Stage, withClient } from '#bench/stage.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Engine } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { offerMethods } from '#operations/payments/customer-pages/offer.ts'
import { createPageContext } from '#pages/page-context.ts'
import { openDatabase } from '#storage/database.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'

/** The target. */
const firstLoadBytesMax = 40_000
const renderMsMax = 3
const rendersMin = 3_000
const bareRatioMin = 0.5

/** 300 pages one after the other: enough for a median, without a queue. */
const timedPages = 300
/** 500 sessions in turn, so that no page can be cached. */
const sessionCount = 500
const concurrency = 32
const compressed = { 'accept-encoding': 'gzip, br' }

export interface PageBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly rounds: number
  readonly seconds: number
  readonly say: (line: string) => void
}

export async function measurePages({ stage, gateway, rounds, seconds, say }: PageBench): Promise<Line[]> {
  const origin = `http://127.0.0.1:${gateway.port}`
  const pages = await openSessions(origin, stage)
  const [first = ''] = pages.map(({ url }) => url)
  const urls = pages.map(({ url }) => url)
  const loaded = await loadAll(first)
  const bare = await startBarePage(first)
  try {
    const [renders, rendered, returned]: [number[], number[], number[]] = [[], [], []]
    for (let round = 1; round <= rounds; round += 1) {
      renders.push(await countRenders(pages[0]?.payId ?? '', stage, seconds * 1000))
      rendered.push(await countPages(urls, seconds * 1000))
      returned.push(await countPages([bare.url], seconds * 1000))
      say(
        `pages ${round}/${rounds}: ${Math.round(rendered.at(-1) ?? 0)}/s, bare ${Math.round(returned.at(-1) ?? 0)}/s`,
      )
    }
    const times = await timePages(urls)
    const rate = spreadOf(renders)
    const ratio = spreadOf(ratiosOf(rendered, returned))
    return [
      {
        what: 'pages, first load, compressed',
        measured: `${(loaded / 1000).toFixed(1)} kB`,
        target: `≤ ${firstLoadBytesMax / 1000} kB`,
        met: loaded <= firstLoadBytesMax,
      },
      {
        what: '       time of one, p50, read and render and send',
        measured: `${times.toFixed(2)} ms`,
        target: `≤ ${renderMsMax} ms`,
        met: times <= renderMsMax,
      },
      {
        what: '       rendered on one core, without reading and sending',
        measured: showRates(rate),
        target: `≥ ${rendersMin}/s`,
        met: rate.median >= rendersMin,
      },
      { what: '       over HTTP, everything included', measured: showRates(spreadOf(rendered)) },
      { what: '       bare route with the same bytes', measured: showRates(spreadOf(returned)) },
      {
        what: '       over HTTP / bare route',
        measured: showRatio(ratio),
        target: `≥ ${bareRatioMin}× or the renders`,
        met: ratio.median >= bareRatioMin || rate.median >= rendersMin,
      },
    ]
  } finally {
    await bare.stop()
    await forget(stage)
  }
}

interface OpenPage {
  readonly url: string
  readonly payId: string
}

async function openSessions(origin: string, { authorization }: Stage): Promise<OpenPage[]> {
  const pages: OpenPage[] = []
  for (let n = 1; n <= sessionCount; n += 1) {
    const response = await fetch(`${origin}/api/v2/payments/sessions`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({
        transId: `bench-page-${n}`,
        amount: { value: 4999, currency: 'EUR' },
        urls: { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' },
        order: { items: [{ name: 'Felt hat', quantity: 1, grossPrice: 4999 }] },
      }),
    })
    if (response.status !== 200) throw new Error(`a session was answered ${response.status}`)
    const { payId, _links } = (await response.json()) as {
      payId: string
      _links: { redirect: { href: string } }
    }
    pages.push({ payId, url: `${origin}${new URL(_links.redirect.href).pathname}` })
  }
  return pages
}

/** Removes unpaid sessions, because the books of the bench count payments. */
const forget = ({ gatewayUrl, merchantId }: Stage): Promise<void> =>
  withClient(gatewayUrl, async client => {
    const pages = `merchant_id = $1 AND pay_id IN (SELECT pay_id FROM payment WHERE merchant_id = $1
      AND trans_id LIKE 'bench-page-%')`
    for (const table of ['timer', 'operation', 'payment'])
      await client.query(`DELETE FROM ${table} WHERE ${pages}`, [merchantId])
  })

/** The page and every file it names, as many bytes as go over the wire. */
async function loadAll(page: string): Promise<number> {
  const response = await fetch(page, { headers: compressed })
  const html = await response.text()
  const files = [...html.matchAll(/(?:src|href)="(\/pay\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '')
  const answers = await Promise.all(files.map(file => fetch(new URL(file, page), { headers: compressed })))
  return [response, ...answers].reduce((sum, answer) => sum + Number(answer.headers.get('content-length')), 0)
}

/** Renders the page of a stored payment repeatedly; returns pages per second of processor time. */
async function countRenders(
  payId: string,
  { gatewayUrl, merchantId }: Stage,
  durationMs: number,
): Promise<number> {
  const database = openDatabase(gatewayUrl, error => {
    throw error
  })
  const payment = await createPaymentReader(database).byPayId(merchantId as MerchantId, payId as PayId)
  await database.close()
  if (!payment) throw new Error('the session is gone')
  const merchant = { merchantId, name: 'Bench', disabled: false, clockOffsetMs: 0 } as Merchant
  const pageContext = createPageContext({
    // Rendering calls only the provider's plan of instalments.
    engine: { providers: simulatedBy(createSimulator()) } as Engine,
    lookUps: {} as LookUps,
    audit: { append: async () => undefined },
    environment: 'test',
    sites: [],
    findMerchant: async () => merchant,
    pageTokens: { issue: () => '', read: () => undefined },
    secure: true,
    origin: () => '',
    signInventory: () => ({ algorithm: 'Ed25519', publicKey: '', value: '' }),
  })
  const offered = await offerMethods(payment, merchant, { providers: simulatedBy(createSimulator()) })
  const hosted = { pageToken: 'x'.repeat(160), merchant, payment, now: new Date(), remembered: [], offered }
  const request = {
    params: {},
    form: {},
    headers: { 'accept-language': 'en' },
    address: '',
    verb: 'GET',
    query: {},
    url: '/',
  }
  const before = process.cpuUsage()
  const begun = performance.now()
  let done = 0
  for (; performance.now() - begun < durationMs; done += 1) pageContext.show(request, hosted)
  const { user, system } = process.cpuUsage(before)
  return (done * 1_000_000) / (user + system)
}

/** Pages a second, each read to its end. */
async function countPages(pages: readonly string[], durationMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const begun = performance.now()
  let done = 0
  const visit = async (caller: number) => {
    for (let n = caller; performance.now() - begun < durationMs; n += concurrency) {
      await load(pages[n % pages.length] ?? '', agent)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, caller) => visit(caller)))
  agent.destroy()
  return (done * 1000) / (performance.now() - begun)
}

/** Leaner than fetch, whose own work would be most of what is measured. */
const load = (page: string, agent: Agent): Promise<void> =>
  new Promise((resolve, reject) => {
    get(page, { agent, headers: compressed }, response => {
      if (response.statusCode !== 200) reject(new Error(`a page was answered ${response.statusCode}`))
      response.resume().on('end', resolve).on('error', reject)
    }).on('error', reject)
  })

async function timePages(pages: readonly string[]): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const times: number[] = []
  for (let n = 0; n < timedPages; n += 1) {
    const begun = performance.now()
    await load(pages[n % pages.length] ?? '', agent)
    times.push(performance.now() - begun)
  }
  agent.destroy()
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

/** A Fastify that does nothing else than answer with these bytes, compressed beforehand. */
async function startBarePage(page: string): Promise<{ url: string; stop(): Promise<void> }> {
  const script = fileURLToPath(new URL('bare-page.ts', import.meta.url))
  const child = spawn(process.execPath, [script, page], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: url.toString().trim(),
    async stop() {
      child.kill()
      await once(child, 'exit')
    },
  }
}
