/** A connector that pays like the simulator and reads settlement files that hold one line as JSON per line. */
import { text } from 'node:stream/consumers'
import type { ConnectorDefinition } from '#connectors/contract.ts'
import { createSimulator, simulatorFacts } from '#connectors/simulator/simulator.ts'

const facts = { ...simulatorFacts, name: 'settling' }

export const settling: ConnectorDefinition = {
  facts,
  open: () => ({
    ...createSimulator(),
    facts,
    async *readSettlement(file) {
      for (const line of (await text(file as never)).split('\n')) if (line !== '') yield JSON.parse(line)
    },
  }),
}
