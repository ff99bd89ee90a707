/** BIN look-ups on a long list against reads of payments in the same run, and the account updater with a full request. */
import { type Line, ratiosOf, showRates, showRatio, spreadOf } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { GatewayRuns } from '#bench/gateway-runs.ts'
import { cardNumberOf } from '#bench/requests.ts'
import type { Stage } from '#bench/stage.ts'
import { type BinRange, toSpan } from '#domain/cards/bin-ranges.ts'
import { openDatabase } from '#storage/database.ts'
import { replaceBins } from '#storage/reference/bins.ts'

/** The target: as many ranges as the open lists have, and four fifths of the rate of a read. */
const eightDigitRanges = 297_000
const sixDigitRanges = 3_000
const readRatioMin = 0.8

const cardsMax = 10_000
const updaterMsMax = 5_000

/** The first of the ranges; the load generator asks for those that follow it. */
export const firstBin = 41_000_000
export const binCount = eightDigitRanges

/** Ranges of eight digits, and around each hundred of them one of six. */
async function* makeRanges(): AsyncGenerator<BinRange> {
  const facts = {
    brand: 'visa',
    coBrands: [],
    product: 'Classic',
    source: 'CREDIT',
    issuer: 'Some bank with a name of usual length',
    country: 'DEU',
    currency: 'EUR',
    dccEligible: true,
  } as const
  for (let i = 0; i < eightDigitRanges; i += 1) yield { ...facts, span: toSpan(String(firstBin + i)) }
  for (let i = 0; i < sixDigitRanges; i += 1) yield { ...facts, span: toSpan(String(firstBin / 100 + i)) }
}

export interface BinBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly through: GatewayRuns
  readonly rounds: number
  readonly say: (line: string) => void
}

export async function measureBins({ stage, gateway, through, rounds, say }: BinBench): Promise<Line[]> {
  const database = openDatabase(stage.gatewayUrl, error => say(error.message))
  const startedAt = performance.now()
  const count = await replaceBins(database, makeRanges(), () => undefined)
  const importMs = performance.now() - startedAt
  await database.close()
  say(`bins: ${count} ranges imported in ${(importMs / 1000).toFixed(1)} s`)
  await through.prepare(1_000)
  const [reads, lookUps]: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    reads.push((await through.reads(`bins ${round}/${rounds} reads`)).perSecond)
    lookUps.push((await through.lookUps(`bins ${round}/${rounds} look-ups`)).perSecond)
  }
  const ratio = spreadOf(ratiosOf(lookUps, reads))
  const updaterMs: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    updaterMs.push(await updateOnce({ stage, gateway, round }))
    through.enterCards(cardsMax)
  }
  const updater = spreadOf(updaterMs)
  return [
    { what: `bins, look-ups on ${count} ranges`, measured: showRates(spreadOf(lookUps)) },
    { what: '      reads (getByPayId)', measured: showRates(spreadOf(reads)) },
    {
      what: '      look-ups / reads',
      measured: showRatio(ratio),
      target: `≥ ${readRatioMin.toFixed(1)}×`,
      met: ratio.median >= readRatioMin,
    },
    {
      what: `account updater, ${cardsMax} new cards`,
      measured: `${Math.round(updater.median)} ms (${Math.round(updater.min)}–${Math.round(updater.max)})`,
      target: `≤ ${updaterMsMax} ms`,
      met: updater.median <= updaterMsMax,
    },
  ]
}

/** Far above the orders of any run, so that no card was seen before. */
const firstCard = 5_000_000_000_000

async function updateOnce(run: { stage: Stage; gateway: GatewayProcess; round: number }): Promise<number> {
  const first = firstCard + run.round * cardsMax
  const cards = Array.from({ length: cardsMax }, (_, index) => ({
    reference: `customer-${index}`,
    number: cardNumberOf(first + index),
    expiryDate: '203012',
  }))
  const startedAt = performance.now()
  const response = await fetch(`http://127.0.0.1:${run.gateway.port}/api/v2/services/accountUpdater`, {
    method: 'POST',
    headers: { authorization: run.stage.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ transId: `update-${run.round}`, cards }),
  })
  const { cards: results } = (await response.json()) as { cards: { updateStatus: string }[] }
  const unchanged = results.filter(({ updateStatus }) => updateStatus === 'NO_CHANGE').length
  if (response.status !== 200 || unchanged !== cardsMax) {
    throw new Error(`the account updater answered ${response.status} and ${unchanged} cards`)
  }
  return performance.now() - startedAt
}
