/**
 * The console's line of the start's banner. In test, until the first person has set up a sign-in, it is a link with
 * which the operator of the gateway becomes its first owner; each start creates a new link until one was used.
 */
import { auditCommand } from '#commands/audit-trail.ts'
import type { OpenDatabase } from '#commands/open-database.ts'
import type { Config } from '#config.ts'
import type { People } from '#console/people.ts'
import type { Operator, PeopleStore } from '#storage/console/people.ts'

/** The first owner of a test environment. */
const firstOwner = 'owner@localhost'

/** `place` is the origin of the console. Undefined: it is switched off. */
export async function findConsole(
  config: Config,
  database: Pick<OpenDatabase, 'url' | 'masterKey'>,
  place: string | undefined,
): Promise<string | undefined> {
  if (place === undefined) return undefined
  if (config.environment === 'live') return `${place}/console`
  const { withPeople } = await import('#console/people.ts')
  const { url: databaseUrl, masterKey } = database
  const path = await withPeople({ databaseUrl, masterKey }, async (people, store) => {
    const made = await makeFirstLink(people, store)
    if (made) await auditCommand(databaseUrl, { act: made.act, object: firstOwner })
    return made?.path
  })
  return `${place}${path ?? '/console'}`
}

interface FirstLink {
  readonly act: 'operator.add' | 'operator.link'
  readonly path: string
}

const isSetUp = ({ passwordHash, passkeys }: Operator): boolean => passwordHash !== undefined || passkeys > 0

/** Undefined: somebody can already sign in, or people were added manually. */
async function makeFirstLink(people: People, store: PeopleStore): Promise<FirstLink | undefined> {
  const everybody = await store.list()
  if (everybody.length === 0) {
    const path = await people.add({ email: firstOwner, role: 'owner' })
    return path === undefined ? undefined : { act: 'operator.add', path }
  }
  const owner = everybody.find(({ email }) => email === firstOwner)
  if (!owner || everybody.some(isSetUp)) return undefined
  return { act: 'operator.link', path: await people.makeLink(owner.operatorId) }
}
