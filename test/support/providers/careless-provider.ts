/** A provider whose own errors quote the card, as careless libraries do, and whose answers to payouts quote the account. */
import type { Connector } from '#connectors/contract.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

export function createCarelessProvider(): Connector {
  const simulator = createSimulator()
  const quote = (number: string) =>
    new Error(`card ${number} was refused`, {
      cause: new TypeError(`${number.replace(/(.{4})/g, '$1 ')} is not a function`),
    })
  return {
    ...simulator,
    keep(question) {
      const { hints, card } = question.request
      if (hints?.simulationMode === '9999') throw quote(card?.number.reveal() ?? '')
      return simulator.keep?.(question) ?? {}
    },
    async authorize(request, signal) {
      if (request.hints?.simulationMode === '9998') throw quote(request.card?.number.reveal() ?? '')
      return simulator.authorize(request, signal)
    },
    async credit(request, signal) {
      const outcome: Outcome = (await simulator.credit?.(request, signal)) ?? { kind: 'unreached' }
      if (!('provider' in outcome)) return outcome
      const responseText = `paid to ${request.account?.number.reveal()}`
      return { ...outcome, provider: { ...outcome.provider, responseText } }
    },
  }
}
