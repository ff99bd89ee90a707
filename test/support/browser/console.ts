/** The console as a person uses it, over HTTP: a link, a password with codes, a session cookie. */
import { withPeople } from '#console/people.ts'
import { totpCode, totpStep } from '#console/totp.ts'
import type { Role } from '#domain/console-roles.ts'
import { masterKeyOf, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { type MasterKey, toMasterKey } from '#vault/master-key.ts'

export interface Person {
  readonly email: string
  readonly password: string
  readonly totpSecret: Buffer
  /** The time step of the code that set-up used; no code of it, or of an earlier one, works again. */
  readonly usedStep: number
  readonly cookie: string
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Adds the token of the console's own forms, unless the fields contain another. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Response>
}

export interface NewPerson {
  readonly role: Role
  readonly merchants?: readonly string[]
  /** The default is the gateway's own. */
  readonly masterKey?: MasterKey
}

/** To open the people of this gateway. */
export const optionsOf = ({ databaseUrl }: TestGateway, masterKey?: MasterKey) => ({
  databaseUrl,
  masterKey: masterKey ?? toMasterKey(masterKeyOf(databaseUrl), 'the test key'),
})

let people = 0

export async function makeLink(
  gateway: TestGateway,
  { role, merchants, masterKey }: NewPerson,
): Promise<{ readonly email: string; readonly path: string }> {
  people += 1
  const email = `person${people}@example.com`
  const path = await withPeople(optionsOf(gateway, masterKey), ({ add }) => add({ email, role, merchants }))
  return { email, path: path ?? '' }
}

export function readSecret(page: string): Buffer {
  const text = /id="totp-secret">([A-Z2-7]+)</.exec(page)?.[1] ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...text].map(letter => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
}

export const readCookie = (response: Response): string =>
  (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''

export const readCsrf = (page: string): string => /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''

export async function signUp(gateway: TestGateway, who: NewPerson): Promise<Person> {
  const { email, path } = await makeLink(gateway, who)
  const totpSecret = readSecret(await (await fetch(`${gateway.url}${path}`)).text())
  const password = 'correct horse battery staple'
  const usedStep = totpStep(Date.now())
  const done = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ password, code: totpCode(totpSecret, usedStep) }),
  })
  if (done.status !== 303) throw new Error(`set-up answered ${done.status}: ${await done.text()}`)
  const cookie = readCookie(done)
  const get: Person['get'] = (address, headers) =>
    fetch(`${gateway.url}${address}`, { headers: { cookie, ...headers }, redirect: 'manual' })
  return {
    email,
    password,
    totpSecret,
    usedStep,
    cookie,
    get,
    async post(address, fields = {}, headers = {}) {
      const csrf = readCsrf(await (await get('/console/merchants')).text())
      return fetch(`${gateway.url}${address}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, ...headers },
        body: new URLSearchParams({ csrf, ...fields }),
      })
    },
  }
}

/** The audit trail's entries about an object, in order, with the owner named as such. */
export async function listActs(
  { databaseUrl }: TestGateway,
  owner: Person,
  object: string,
): Promise<readonly string[]> {
  const rows = await queryRows<{ act: string; actor: string }>(
    databaseUrl,
    `SELECT act, actor FROM audit WHERE object = '${object}' ORDER BY number`,
  )
  return rows.map(({ act, actor }) => `${act} by ${actor === owner.email ? 'the owner' : actor}`)
}
