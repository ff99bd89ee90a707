/** All connectors, one line each. A new connector adds its line here and changes nothing else outside its folder. */
import { adyen } from '#connectors/adyen/connector.ts'
import { bankDefinition } from '#connectors/bank/connector.ts'
import type { Connector, ConnectorDefinition } from '#connectors/contract.ts'
import type { OpenedAccount, ProviderDirectory } from '#connectors/directory.ts'
import { type SimulatorOptions, simulatorDefinition } from '#connectors/simulator/simulator.ts'
import { stripe } from '#connectors/stripe/connector.ts'

/**
 * `simulator`: the options of a running gateway, so that simulator accounts use the same ordered faults as merchants
 * without accounts.
 */
export const connectorDefinitions = (simulator: SimulatorOptions): readonly ConnectorDefinition[] => [
  simulatorDefinition(simulator),
  adyen,
  bankDefinition,
  stripe,
]

export const definitions = connectorDefinitions({})

/** A directory with the simulator for every payment, as for merchants without accounts. */
export const simulatedBy = (simulator: Connector): ProviderDirectory =>
  servedBy([{ connectorName: simulator.facts.name, connector: simulator, label: () => undefined }])

function servedBy(accounts: readonly OpenedAccount[]): ProviderDirectory {
  const all = Promise.resolve(accounts)
  const first = Promise.resolve(accounts[0])
  const reachable = Promise.resolve(() => accounts)
  return { candidates: () => all, open: () => first, enabled: () => all, reachable: () => reachable }
}
