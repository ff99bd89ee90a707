/** A provider whose own errors quote the card, as careless libraries do. */
import type { Connector } from '#connectors/contract.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'

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
  }
}
