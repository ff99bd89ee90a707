/** A gateway with an account at the provider that reports results later, and all notices of that provider. */
import type { NoticeFact } from '#connectors/contract.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '#test/support/gateway.ts'
import {
  createLateProvider,
  type LateOptions,
  type LateProvider,
} from '#test/support/providers/late-provider.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

/** The secret with which the provider signs its notices. */
export const word = 'a word that only the provider knows'

export interface LateStage {
  readonly provider: LateProvider
  readonly gateway: TestGateway
  readonly accountId: string
  read(payId: string): Promise<AnyJson>
  /** The types of the events of a payment, in order. */
  eventsOf(payId: string): Promise<readonly string[]>
  runTimers(): Promise<number>
  /** Delivers the provider's notices and applies them. */
  deliver(): Promise<void>
  /** Like `deliver`, with this additional fact. */
  tell(fact: NoticeFact): Promise<void>
  /** The state of the last notice. */
  lastState(): Promise<string | undefined>
}

export async function openLateStage(
  options: TestGatewayOptions = {},
  late: LateOptions = {},
): Promise<LateStage> {
  const provider = createLateProvider(late)
  const gateway = await startTestGateway({
    ...options,
    definitions: [provider.definition, ...(options.definitions ?? [])],
    requestsPerSecond: 10_000,
  })
  const accountId = await addProviderAccount(gateway, provider.definition, { secrets: { word } })
  let notices = 0

  async function deliver(): Promise<void> {
    for (const body of provider.tell(word)) {
      await fetch(`${gateway.url}/providers/${accountId}/notices`, { method: 'POST', body })
    }
    await queryRows(gateway.databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
    await gateway.gateway.notices.runDue()
  }

  return {
    provider,
    gateway,
    accountId,
    deliver,
    read: async payId => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body,
    async eventsOf(payId) {
      const rows = await queryRows<{ type: string }>(
        gateway.databaseUrl,
        `SELECT body->>'type' AS type FROM event WHERE pay_id = '${payId}' ORDER BY sequence`,
      )
      return rows.map(({ type }) => type)
    },
    runTimers: () => gateway.gateway.timerWorker.runDue(),
    async tell(fact) {
      notices += 1
      provider.say({ key: `told-${notices}`, fact })
      await deliver()
    },
    async lastState() {
      const rows = await queryRows<{ state: string }>(
        gateway.databaseUrl,
        `SELECT state FROM notice_item WHERE item_key = 'told-${notices}'`,
      )
      return rows[0]?.state
    },
  }
}
