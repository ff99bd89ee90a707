/**
 * The latency that the gateway adds to a provider: payments through an account at a server that answers like Stripe
 * after 100 ms, compared with calling that server directly, and the memory of 500 payments that are at the provider at
 * once.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { openCaller } from '#bench/caller.ts'
import { type Line, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import { makePaymentRequest } from '#bench/requests.ts'
import { readMemory } from '#bench/resources.ts'
import { makeBenchMerchant, type Stage } from '#bench/stage.ts'
import { openProviders } from '#providers/open-providers.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** The target. */
const addedMsMax = 15
const grownMbMax = 60
const underWay = 500

/** The provider's own time, and a longer one for holding all payments there at once. */
const answerMs = 100
const holdMs = 3_000

/**
 * 200 payments, one every 10 ms whether or not earlier ones are answered, so that ten are at the provider at once. Callers who
 * wait for their answer would fall into step, because those of one commit are answered together, and arrive as a queue of ten.
 */
const measured = 200
const betweenStartsMs = 10

/** 5: a thousand payments, after which the code of this connector is compiled as that of a running gateway is. */
const warmUpRounds = 5

/** Orders of other parts of the bench have small numbers. */
const firstOrder = 5_000_000_000

interface Measuring {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly rounds: number
  readonly say: (line: string) => void
}

export async function measureProvider({ stage, gateway, rounds, say }: Measuring): Promise<Line[]> {
  const provider = await startProvider()
  try {
    const authorization = await openShop(stage, provider.url)
    const target = { port: gateway.port, authorization }
    let order = firstOrder
    const pay = async (port = target.port): Promise<number> => {
      const caller = await openCaller(port)
      const request = makePaymentRequest(target, 'AUTOMATIC')
      request.write(order++)
      const begunAt = performance.now()
      const { status, body } = await caller.ask(request.bytes)
      const tookMs = performance.now() - begunAt
      if (status !== 200) throw new Error(`the provider's payment was answered ${status}: ${body}`)
      caller.close()
      return tookMs
    }
    for (let round = 0; round < warmUpRounds; round += 1) await timesOf(pay)
    const added: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const direct = medianOf(await timesOf(() => pay(provider.port)))
      const through = medianOf(await timesOf(pay))
      say(`provider: ${direct.toFixed(1)} ms directly, ${through.toFixed(1)} ms through the gateway`)
      added.push(through - direct)
    }
    const { median, min, max } = spreadOf(added)
    const grownMb = await measureMemory({ gateway, provider, pay })
    return [
      {
        what: `provider of ${answerMs} ms, added at p50`,
        measured: `${median.toFixed(1)} ms (${min.toFixed(1)}–${max.toFixed(1)})`,
        target: `≤ ${addedMsMax} ms`,
        met: median <= addedMsMax,
      },
      {
        what: `provider, memory grown by ${underWay} payments under way`,
        measured: `${Math.round(grownMb)} MB`,
        target: `≤ ${grownMbMax} MB`,
        met: grownMb <= grownMbMax,
      },
    ]
  } finally {
    await provider.stop()
  }
}

const timesOf = (pay: () => Promise<number>): Promise<number[]> =>
  Promise.all(
    Array.from({ length: measured }, async (_, place) => {
      await delay(place * betweenStartsMs)
      return pay()
    }),
  )

const medianOf = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN

async function measureMemory({
  gateway,
  provider,
  pay,
}: {
  readonly gateway: GatewayProcess
  readonly provider: Provider
  readonly pay: () => Promise<number>
}): Promise<number> {
  const before = readMemory(gateway.pid).residentMb
  provider.answerAfter(holdMs)
  const all = Promise.all(Array.from({ length: underWay }, pay))
  let ended = false
  const end = all.finally(() => {
    ended = true
  })
  let peak = before
  while (!ended) {
    peak = Math.max(peak, readMemory(gateway.pid).residentMb)
    await delay(20)
  }
  await end
  if (provider.most() < underWay) throw new Error(`only ${provider.most()} payments were under way at once`)
  return peak - before
}

interface Provider {
  readonly url: string
  readonly port: number
  answerAfter(ms: number): void
  /** How many calls were open at once. */
  most(): number
  stop(): Promise<void>
}

/** Approves every payment intent as Stripe does; answers all other requests with success. */
async function startProvider(): Promise<Provider> {
  let waitMs = answerMs
  let [open, most, made] = [0, 0, 0]
  const server = createServer(async (request, response) => {
    let form = ''
    for await (const chunk of request) form += chunk
    open += 1
    most = Math.max(most, open)
    await delay(waitMs)
    open -= 1
    const text = JSON.stringify(intentOf(new URLSearchParams(form), ++made))
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    answerAfter: ms => {
      waitMs = ms
    },
    most: () => most,
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function intentOf(form: URLSearchParams, made: number): object {
  const amount = Number(form.get('amount'))
  const metadata = Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1]
      return key === undefined ? [] : [[key, value]]
    }),
  )
  return {
    id: `pi_${made}`,
    object: 'payment_intent',
    amount,
    amount_received: amount,
    currency: form.get('currency'),
    status: 'succeeded',
    metadata,
    latest_charge: { id: `ch_${made}`, object: 'charge', amount, captured: true, status: 'succeeded' },
  }
}

/** A merchant of its own, so that the other parts keep the simulator; returns its header. */
async function openShop(stage: Stage, baseUrl: string): Promise<string> {
  const masterKey = toMasterKey(stage.environment.TOLLGATE_MASTER_KEY ?? '', 'the bench')
  const shared = { environment: 'test', databaseUrl: stage.gatewayUrl, masterKey } as const
  const { merchantId, authorization } = await makeBenchMerchant(stage)
  const actor = { actor: 'bench', from: 'bench' }
  const { providers, close } = await openProviders({ ...shared, origin: 'http://localhost', actor })
  const secrets = { secretKey: 'sk_test_bench', webhookSecret: 'whsec_bench' }
  const settings = { rawCards: 'true', baseUrl }
  await providers.add(merchantId, { connector: 'stripe', name: 'Provider', settings, secrets })
  await close()
  return authorization
}
