/** A batch of 100,000 debits: from the queue to a file on disk, and what it needs of memory. */
import { addBankAccount } from '#bench/bank-account.ts'
import { type Line, showRate } from '#bench/figures.ts'
import type { Stage } from '#bench/stage.ts'
import { earliestCollection } from '#connectors/bank/collection.ts'
import { bankTimeOf } from '#domain/time/target-calendar.ts'
import { createGateway } from '#gateway.ts'
import { giveOutNew } from '#operations/bank/give-out.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import { seedDebits } from '#test/support/bank/debits.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** The target. */
const debits = 100_000
const perSecondMin = 5_000
/** 150 MB: pages of a thousand debits and what the collector leaves lying, far below the file and its payments. */
const grownMbMax = 150

export async function measureBank({
  stage,
  say,
}: {
  stage: Stage
  say: (line: string) => void
}): Promise<Line[]> {
  const masterKey = toMasterKey(stage.environment.TOLLGATE_MASTER_KEY ?? '', 'the bench')
  const gateway = await createGateway({
    environment: 'test',
    databaseUrl: stage.gatewayUrl,
    masterKey,
    logLevel: 'error',
  })
  try {
    const accountId = await addBankAccount(stage)
    // As captures of the same morning leave them: announced for the day on which the batch will be collected.
    const dueDate = earliestCollection(bankTimeOf(new Date()), 12)
    const seed = {
      databaseUrl: stage.gatewayUrl,
      merchantId: stage.merchantId,
      accountId,
      count: debits,
      dueDate,
    }
    await seedDebits(gateway.engine, seed)
    const account = await gateway.bank.account(accountId)
    const folder = await stage.makeFolder('bank')
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 20)
    const startedAt = performance.now()
    await makeBatch(account, undefined, gateway.bank)
    const [file] = await giveOutNew(account, folder, gateway.bank)
    const seconds = (performance.now() - startedAt) / 1000
    clearInterval(watch)
    const perSecond = debits / seconds
    const grownMb = (peak - before) / 1e6
    say(
      `bank batch: ${file?.payments} debits in ${seconds.toFixed(1)} s, ${Math.round(grownMb)} MB more memory`,
    )
    return [
      {
        what: `bank batch of ${showRate(debits)} debits, debits/s`,
        measured: showRate(perSecond),
        target: `≥ ${showRate(perSecondMin)}`,
        met: perSecond >= perSecondMin,
      },
      {
        what: 'bank batch, memory grown by MB',
        measured: String(Math.round(grownMb)),
        target: `≤ ${grownMbMax}`,
        met: grownMb <= grownMbMax,
      },
    ]
  } finally {
    await gateway.close()
  }
}
