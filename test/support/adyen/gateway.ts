/** A gateway whose merchant pays through a double of Adyen, added as an operator adds it: by the command line. */
import { AdyenDouble, type AdyenDoubleOptions } from '#test/support/adyen/double.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import {
  masterKeyOf,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '#test/support/gateway.ts'
import { countDue, queryRows } from '#test/support/simulation/invariants.ts'

export interface AdyenGateway {
  readonly gateway: TestGateway
  readonly double: AdyenDouble
  readonly commands: CommandsHere
  readonly accountId: string
  /** Sends every notice that Adyen owes and applies it. */
  settle(): Promise<void>
  /** Applies what has arrived. */
  apply(): Promise<void>
  /** Runs all work that is due at this time; the gateway's own loops run too. With `quiet` Adyen sends no notices. */
  work(nowMs: number, quiet?: boolean): Promise<void>
  record(payId: string): Promise<AnyJson>
  /** Both ledgers, payment by payment: ours and Adyen's. They must be equal. */
  books(): Promise<{ readonly ours: readonly Book[]; readonly theirs: readonly Book[] }>
  stop(): Promise<void>
}

export interface AdyenGatewayOptions extends AdyenDoubleOptions {
  readonly rawCards?: boolean
  /** The key of the report user; without it the account fetches no reports. */
  readonly reportKey?: string
  readonly gateway?: TestGatewayOptions
}

export async function startAdyenGateway(options: AdyenGatewayOptions = {}): Promise<AdyenGateway> {
  const double = await new AdyenDouble(options).start()
  const gateway = await startTestGateway(options.gateway)
  const { databaseUrl, merchantId } = gateway
  const commands = commandsHere(databaseUrl, { TOLLGATE_MASTER_KEY: masterKeyOf(databaseUrl) })
  const { accountId } = await commands.json(
    'provider',
    'add',
    merchantId,
    '--connector',
    'adyen',
    '--name',
    'Adyen',
    ...['--set', `merchantAccount=${double.checkout.merchantAccount}`],
    ...['--set', `rawCards=${options.rawCards ?? true}`],
    ...['--set', `multipleCaptures=${options.multipleCaptures ?? false}`],
    ...['--set', `baseUrl=${double.origin}`],
    ...['--secret', `apiKey=@${commands.file('api-key', double.apiKey)}`],
    ...['--secret', `hmacKey=@${commands.file('hmac-key', double.hmacKey)}`],
    ...(options.reportKey === undefined
      ? []
      : ['--secret', `reportApiKey=@${commands.file('report-key', options.reportKey)}`]),
  )
  double.noticeUrl = `${gateway.url}/providers/${accountId}/notices`
  const apply = async (): Promise<void> => {
    await gateway.gateway.notices.runDue()
  }
  const settle = async (): Promise<void> => {
    await double.notify()
    await apply()
  }
  return {
    gateway,
    double,
    commands,
    accountId,
    apply,
    settle,
    async work(nowMs, quiet = false) {
      do {
        await gateway.gateway.timerWorker.runDue()
        if (!quiet) await settle()
      } while ((await countDue(databaseUrl, nowMs)) > 0)
    },
    record: async payId => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body,
    books: () => readBooks(databaseUrl, double),
    async stop() {
      commands.remove()
      await gateway.stop()
      await double.close()
    },
  }
}

/** The sums of a payment: authorised and not reversed, captured, refunded. */
export interface Book {
  readonly reference: string
  readonly held: number
  readonly captured: number
  readonly refunded: number
}

interface Row {
  readonly x_id: string
  readonly authorized: string
  readonly reversed: string
  readonly captured: string
  readonly refunded: string
}

async function readBooks(databaseUrl: string, { ledger }: AdyenDouble) {
  const rows = await queryRows<Row>(
    databaseUrl,
    `SELECT operation.x_id, authorized, reversed, captured, refunded FROM payment JOIN operation USING (merchant_id, pay_id)
    WHERE operation.type = 'AUTHORIZATION' AND operation.state <> 'FAILED'`,
  )
  const ours = rows.map(row => ({
    reference: row.x_id.replaceAll('-', ''),
    held: Number(row.authorized) - Number(row.reversed),
    captured: Number(row.captured),
    refunded: Number(row.refunded),
  }))
  const theirs = [...ledger.payments.values()].map(
    ({ reference, authorised, released, captured, refunded }) => ({
      reference,
      held: authorised - released,
      captured,
      refunded,
    }),
  )
  const isMoving = ({ held, captured }: Book): boolean => held > 0 || captured > 0
  const sorted = (books: readonly Book[]): readonly Book[] =>
    books.filter(isMoving).toSorted((a, b) => a.reference.localeCompare(b.reference))
  return { ours: sorted(ours), theirs: sorted(theirs) }
}
