/** People for commands that need no server: opened on the database, used, and closed again. */
import { createPeople, type People } from '#console/people.ts'
import { newId } from '#operations/merchants/open-merchants.ts'
import { createPeopleStore, type PeopleStore } from '#storage/console/people.ts'
import { openDatabase } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing, openDerivedKeys } from '#vault/key-ring.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

export async function withPeople<T>(
  options: { readonly databaseUrl: string; readonly masterKey: Parameters<typeof createKeyRing>[0] },
  work: (people: People, store: PeopleStore) => Promise<T>,
): Promise<T> {
  let broken: Error | undefined
  const database = openDatabase(options.databaseUrl, error => {
    broken = error
  })
  try {
    // Proves that the master key is the right one before anything is sealed with it.
    await openDerivedKeys(options.masterKey, createInstallation(database))
    const store = createPeopleStore(database)
    const vault = createRecordVault(createKeyRing(options.masterKey, createVaultStore(database)))
    const result = await work(createPeople({ store, vault, newId, nowMs: Date.now }), store)
    if (broken) throw broken
    return result
  } finally {
    await database.close()
  }
}
