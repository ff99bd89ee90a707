/** Which connector serves a method. In test everything goes to the simulator; live has only what was configured. */
import { adyen } from '#connectors/adyen/connector.ts'
import type { Connector } from '#connectors/contract.ts'
import type { ConnectorDefinition } from '#connectors/contract-next.ts'
import { simulatorDefinition } from '#connectors/simulator/definition.ts'
import type { FaultBook } from '#connectors/simulator/faults.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { stripe } from '#connectors/stripe/connector.ts'
import type { Method } from '#methods/rows.ts'

export interface Connectors {
  /** Undefined: nobody was configured for this method, and the payment is refused before anything is written. */
  find(method: Method): Connector | undefined
}

interface Environment {
  readonly environment: 'test' | 'live'
  readonly simulatorLatencyMs?: number
}

export function createConnectors(
  { environment, simulatorLatencyMs: latencyMs }: Environment,
  faults: FaultBook,
): Connectors {
  return environment === 'test'
    ? simulatedBy(createSimulator({ faults, latencyMs }))
    : { find: () => undefined }
}

export const simulatedBy = (simulator: Connector): Connectors => ({ find: () => simulator })

/** Every connector there is, one line each. */
export const definitions: readonly ConnectorDefinition[] = [simulatorDefinition, adyen, stripe]
