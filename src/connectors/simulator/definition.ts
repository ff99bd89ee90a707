/** The simulator as the registry knows it: no settings, no secrets, every method and every currency. */
import type { Capabilities, ConnectorDefinition } from '#connectors/contract-next.ts'
import { exponentOf } from '#domain/currencies.ts'

const everything: Capabilities = {
  rawCards: true,
  capture: 'several',
  partialCaptureReleasesRest: false,
  partialReversal: true,
  reversal: true,
  refund: true,
  partialRefund: true,
  increment: true,
  credit: true,
  storedCredentials: true,
}

const facts: ConnectorDefinition['facts'] = {
  name: 'simulator',
  liveHosts: [],
  settings: {},
  secrets: {},
  serves: () => true,
  exponent: exponentOf,
  lostAnswer: { noticeWithinMs: 0, lookUpSettledMs: 0, undo: false },
  timeoutMs: 20_000,
  pendingMs: () => 86_400_000,
}

export const simulatorDefinition: ConnectorDefinition = {
  facts,
  open: () => ({
    facts,
    supports: () => everything,
    authorize: async () => ({ authorization: { kind: 'unknown' } }),
    check: async () => [
      { name: 'simulator', ok: true, detail: 'it runs inside the gateway and needs no credentials' },
    ],
  }),
}
