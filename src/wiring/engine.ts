/** Wires the engine and the deliveries of one environment. */
import { buildTestCatalogue } from '#connectors/simulator/catalogue.ts'
import { createEngine } from '#operations/create-engine.ts'
import type { Alarm, Engine } from '#operations/engine.ts'
import type { EndpointBook } from '#operations/events/endpoint-book.ts'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { Gate } from '#operations/merchants/gate.ts'
import { newId } from '#operations/merchants/open-merchants.ts'
import type { DeliveryStore } from '#storage/events/deliveries.ts'
import { choosePolicy } from '#webhooks/policies.ts'
import { createSender } from '#webhooks/send.ts'
import type { Parts } from '#wiring/parts.ts'
import { createDeliveryWorker, type DeliveryWorker } from '#workers/deliver.ts'

const publishedCards = buildTestCatalogue().cards.map(({ number }) => number)

export function createDeliveries(
  parts: Pick<Parts, 'keys' | 'logger' | 'metrics' | 'clock' | 'options'> & {
    readonly endpointBook: EndpointBook
    readonly gate?: Gate | undefined
  },
  store: DeliveryStore,
): DeliveryWorker {
  const { keys, logger, metrics, clock, options, endpointBook } = parts
  return createDeliveryWorker({
    store,
    sender: options.sender ?? createSender({ policy: choosePolicy(options) }),
    openSecret: (owner, sealed) => openWebhookSecret(keys.webhookSecrets, owner, sealed),
    mayHaveDeliveries: endpointBook.mayHaveDeliveries,
    onFailed: ({ merchantId, payId, eventId, endpointId }) => {
      metrics.countWebhookFailure()
      logger.error(
        { code: 'WEBHOOK_FAILED', merchantId, payId, eventId, endpointId },
        'an event could not be delivered and is not tried again; "tollgate events replay" sends it once more',
      )
    },
    clock,
    gate: parts.gate,
    chance: Math.random,
    onError: err =>
      logger.error(
        { err, component: 'deliver' },
        'a webhook could not be delivered because of a fault on our side; it will be tried again',
      ),
  })
}

type EnginePart = 'providers' | 'pageAddress' | 'returnAddress'

export function openEngine(
  parts: Omit<Parts, 'faults' | 'counts'> & Pick<Engine, EnginePart> & { endpointBook: EndpointBook },
): Engine {
  const { database, metrics, logger, clock, options, keys, onEvents } = parts
  const { providers, pageAddress, returnAddress } = parts
  return createEngine({
    database,
    keys,
    masterKey: options.masterKey,
    environment: options.environment,
    publishedCards,
    countProcesses: () => parts.presence.others() + 1,
    providers,
    clock,
    newId,
    pageAddress,
    returnAddress,
    onBatch: size => metrics.observeBatch(size),
    onEvents,
    endpoints: parts.endpointBook,
    onOutcome: (operation, outcome) => metrics.countOutcome(operation, outcome),
    onAlarm: (alarm: Alarm) => {
      const { code, message, payId, xId, error: err } = alarm
      logger.error({ code, payId, xId, err }, message)
    },
    testCrash: options.testCrash ?? (() => undefined),
    isAlive: options.isAlive ?? parts.presence.isAlive,
    countInterruptions: options.countInterruptions ?? parts.presence.countInterruptions,
  })
}
