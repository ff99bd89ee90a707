/**
 * Every provider that accounts can be opened with, one line each. A new connector adds its line here and touches nothing
 * else outside its folder.
 */
import { adyen } from '#connectors/adyen/connector.ts'
import { bankDefinition } from '#connectors/bank/connector.ts'
import type { Connector, ConnectorDefinition } from '#connectors/contract.ts'
import type { OpenedAccount, ProviderDirectory } from '#connectors/directory.ts'
import { type SimulatorOptions, simulatorDefinition } from '#connectors/simulator/simulator.ts'
import { stripe } from '#connectors/stripe/connector.ts'

/** The simulator of a running gateway shares its faults with those of merchants without accounts. */
export const connectorDefinitions = (simulator: SimulatorOptions): readonly ConnectorDefinition[] => [
  simulatorDefinition(simulator),
  adyen,
  bankDefinition,
  stripe,
]

export const definitions = connectorDefinitions({})

/** One connector for all payments, as for merchants without accounts. */
export const simulatedBy = (simulator: Connector): ProviderDirectory =>
  servedBy([{ connectorName: simulator.facts.name, connector: simulator, label: () => undefined }])

function servedBy(accounts: readonly OpenedAccount[]): ProviderDirectory {
  const all = Promise.resolve(accounts)
  const first = Promise.resolve(accounts[0])
  return { candidates: () => all, open: () => first, enabled: () => all }
}
