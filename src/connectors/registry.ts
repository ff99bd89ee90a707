/**
 * Every provider that accounts can be opened with, one line each. A new connector adds its line here and touches nothing
 * else outside its folder.
 */
import type { Connector, ConnectorDefinition } from '#connectors/contract.ts'
import type { OpenedAccount, ProviderDirectory } from '#connectors/directory.ts'
import {
  createSimulator,
  type SimulatorOptions,
  simulatorDefinition,
} from '#connectors/simulator/simulator.ts'

export const connectorDefinitions = (simulator: SimulatorOptions): readonly ConnectorDefinition[] => [
  simulatorDefinition(simulator),
]

interface Environment {
  readonly environment: 'test' | 'live'
  readonly simulatorLatencyMs?: number
}

/** For an installation without accounts: in test the simulator takes everything, in live nobody takes anything. */
export const createDirectory = (
  { environment, simulatorLatencyMs: latencyMs }: Environment,
  faults: SimulatorOptions['faults'],
): ProviderDirectory =>
  environment === 'test' ? simulatedBy(createSimulator({ faults, latencyMs })) : servedBy([])

export const simulatedBy = (simulator: Connector): ProviderDirectory =>
  servedBy([{ connectorName: simulator.facts.name, connector: simulator, label: () => undefined }])

function servedBy(accounts: readonly OpenedAccount[]): ProviderDirectory {
  const all = Promise.resolve(accounts)
  const first = Promise.resolve(accounts[0])
  return { candidates: () => all, open: () => first, enabled: () => all }
}
