/** Adyen's connector and its double on the stage of the conformance suite, over real HTTP. */
import { adyen } from '#connectors/adyen/connector.ts'
import type { Behaviour } from '#connectors/conformance.ts'
import type { ConnectorDefinition } from '#connectors/contract.ts'
import type { OperationType } from '#lifecycle/payment.ts'
import { AdyenDouble, type AdyenFault } from '#test/support/adyen/double.ts'
import { type OpenStage, openStage } from '#test/support/providers/conformance-stage.ts'

/** The calls of each operation. */
const paths: Readonly<Partial<Record<OperationType, RegExp>>> = {
  AUTHORIZATION: /\/payments$/,
  CAPTURE: /\/captures$/,
  REVERSAL: /\/cancels$/,
  INCREMENTAL: /\/amountUpdates$/,
  REFUND: /\/refunds$/,
}

/** `throws` is a truncated answer, and `unreached` a refused call. */
const faults: Readonly<Partial<Record<Behaviour, readonly AdyenFault[]>>> = {
  unreached: ['turnedAway', 'turnedAway', 'turnedAway'],
  throttled: ['toldToWait'],
  lostBefore: ['lostBefore'],
  lostAfter: ['lostAfter'],
  errorPage: ['html500'],
  throws: ['truncated'],
  hangs: ['silent'],
  otherAmount: ['wrongEcho'],
}

/** The real facts with shorter limits: 300 ms for a call and 45 s for a notice, so that the suite need not wait. */
const facts = {
  ...adyen.facts,
  timeoutMs: 300,
  lostAnswer: { ...adyen.facts.lostAnswer, noticeWithinMs: 45_000 },
}
const definition: ConnectorDefinition = {
  facts,
  open: (account, tools) => ({ ...adyen.open(account, tools), facts }),
}

export async function adyenStage(): Promise<OpenStage> {
  const double = await new AdyenDouble({ multipleCaptures: true }).start()
  const { ledger } = double
  const stage = await openStage({
    definition,
    ledger: ledger.movements,
    settings: {
      merchantAccount: double.checkout.merchantAccount,
      rawCards: 'true',
      multipleCaptures: 'true',
      baseUrl: double.origin,
    },
    secrets: { apiKey: double.apiKey, hmacKey: double.hmacKey },
    arm(operation, behaviour) {
      const path = paths[operation]
      if (path === undefined) return
      if (behaviour === 'decline' && isDeclined(operation)) ledger.declining.add(operation)
      for (const fault of faults[behaviour] ?? []) double.fail(path, fault)
    },
    tell: () => ledger.owed.splice(0).map(item => ({ body: JSON.stringify(double.sign([item])) })),
    forge: ({ body }) => ({ body: body.replace(/"hmacSignature":"./, '"hmacSignature":"!') }),
    onEarly: run => {
      double.beforeAnswer = run ?? (async () => undefined)
    },
  })
  return {
    ...stage,
    /** Adyen has no reference for a capture that it makes by itself, so that one is made by hand here. */
    async create({ automatic, diesAt }) {
      const payId = await stage.create({ automatic: false, diesAt })
      if (!automatic) return payId
      await stage.settle('late')
      await stage.follow(payId, 'captures', { value: 1000 })
      await stage.settle('late')
      return payId
    },
    async close() {
      await stage.close()
      await double.close()
    },
  }
}

const isDeclined = (
  operation: OperationType,
): operation is 'AUTHORIZATION' | 'CAPTURE' | 'REFUND' | 'REVERSAL' | 'INCREMENTAL' => operation in paths
