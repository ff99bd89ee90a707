/**
 * The half of a gateway that delivers events, in a process of its own, to be killed. It loads, reports that it is
 * ready, and starts when it gets the database and the key; "settle" makes it run due deliveries until none is left.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import { openDatabase } from '#storage/database.ts'
import { createDeliveryStore } from '#storage/events/deliveries.ts'
import { createInstallation } from '#storage/installation.ts'
import { openDerivedKeys } from '#vault/key-ring.ts'
import { toMasterKey } from '#vault/master-key.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createSender } from '#webhooks/send.ts'
import { createDeliveryWorker, type DeliveryWorker } from '#workers/deliver.ts'

export type ToChild = { readonly databaseUrl: string; readonly masterKey: string } | 'settle'
export type FromChild = 'loaded' | 'started' | 'settled'

const say = (word: FromChild): void => void process.send?.(word)

let worker: DeliveryWorker | undefined

async function start(databaseUrl: string, masterKey: string): Promise<void> {
  const database = openDatabase(databaseUrl, error => console.error(error))
  const keys = await openDerivedKeys(
    toMasterKey(masterKey, 'the key of the test'),
    createInstallation(database),
  )
  worker = createDeliveryWorker({
    store: createDeliveryStore(database),
    sender: createSender({ policy: addressPolicies.test }),
    openSecret: (owner, sealed) => openWebhookSecret(keys.webhookSecrets, owner, sealed),
    mayHaveDeliveries: () => true,
    onFailed: () => undefined,
    clock: { nowMs: Date.now, waitMs: delay },
    chance: Math.random,
    onError: error => console.error(error),
  })
  await worker.recover()
  worker.wake()
  say('started')
}

async function settle(): Promise<void> {
  while (worker && (await worker.runDue()) > 0);
  say('settled')
}

process.on('message', (message: ToChild) => {
  const work = message === 'settle' ? settle() : start(message.databaseUrl, message.masterKey)
  work.catch(error => {
    console.error(error)
    process.exit(1)
  })
})
process.once('disconnect', () => process.exit(0))
say('loaded')
