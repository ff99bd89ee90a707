/**
 * People of the console: adding them, the link with which they set up how to sign in, signing in with a password and a
 * one-time code, and their sessions. Passkeys are in passkeys.ts. Decides nothing about money.
 */
import { createHash, randomBytes } from 'node:crypto'
import { hashPassword, isPassword, passwordLengthMax, passwordLengthMin } from '#console/password.ts'
import { findTotpStep, totpSecretBytes } from '#console/totp.ts'
import type { Role } from '#domain/console-roles.ts'
import type { MerchantId } from '#domain/ids.ts'
import { createFailedLogins, type FailedLogins, type FailureLimit } from '#http/authentication/rate-limit.ts'
import { newId } from '#operations/merchants/open-merchants.ts'
import {
  createPeopleStore,
  type OpenSession,
  type Operator,
  type Passkey,
  type PeopleStore,
  type SealedTotp,
  type SessionLimits,
} from '#storage/console/people.ts'
import { openDatabase } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { installationOwner } from '#storage/vault/key-rotation.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing, openDerivedKeys } from '#vault/key-ring.ts'
import { createRecordVault, type RecordVault } from '#vault/sealed-records.ts'

export interface PeopleDeps {
  readonly store: PeopleStore
  readonly vault: RecordVault
  readonly newId: () => string
  /** Real time: neither codes nor sessions follow a test clock. */
  readonly nowMs: () => number
  /** Wrong codes of people whose password was right. */
  readonly wrongCodes: FailedLogins
}

/**
 * 10 an hour: there are a million codes, and somebody who knows a person's password may try from any number of
 * addresses. Only tries with the right password count, so that nobody else can lock a person out.
 */
export const wrongCodesLimit: FailureLimit = { failures: 10, windowMs: 60 * 60 * 1000 }

/** Used instead of the address: wrong codes are counted over all addresses. */
const anywhere = 'anywhere'

/** The contract: 15 minutes idle, 12 hours in all. */
export const sessionLimits: SessionLimits = { idleSeconds: 15 * 60, totalSeconds: 12 * 60 * 60 }

/** The contract: a link works once, for 24 hours. */
const linkMs = 24 * 60 * 60 * 1000

/** 32 bytes: far beyond guessing. */
const tokenBytes = 32

/** The owner of the data key for data that belongs to no merchant. */
const installation = installationOwner as MerchantId

export interface People {
  /** The path of a new link; undefined: another person has this address. */
  add(person: NewPerson): Promise<string | undefined>
  /**
   * A new link for a person who lost the old one or their sign-in: it replaces nothing until it is used. `madeBy`: the
   * owner whose page shows it; it ends with their rights.
   */
  makeLink(operatorId: string, madeBy?: string): Promise<string>
  openLink(token: string): Promise<OpenedLink | undefined>
  setUpWithPassword(token: string, entry: { password: string; code: string }): Promise<SetUpResult>
  /** False: the link was used meanwhile, or has expired. */
  setUpWithPasskey(token: string, passkey: Passkey): Promise<boolean>
  signIn(entry: { email: string; password: string; code: string }): Promise<Operator | undefined>
  startSession(operatorId: string, from: { address: string; browser: string }): Promise<string>
  /** idle: the page refreshes itself, and the person may have left. */
  openSession(token: string, use?: { readonly idle: boolean }): Promise<OpenSession | undefined>
}

export interface NewPerson {
  readonly email: string
  readonly role: Role
  readonly merchants?: readonly string[] | undefined
  readonly refundLimits?: readonly string[] | undefined
  /** The owner who adds them in the console. */
  readonly madeBy?: string
}

export interface OpenedLink {
  readonly operator: Operator
  readonly totpSecret: Buffer
}

export type SetUpResult =
  | { readonly done: true; readonly operator: Operator }
  | { readonly done: false; readonly field: 'password' | 'code' | 'link'; readonly message: string }

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

export function createPeople(deps: PeopleDeps): People {
  const { store, vault, newId, nowMs, wrongCodes } = deps
  const { makeLink, openLink, openTotp } = createLinks(deps)

  return {
    makeLink,
    openLink,
    async add({ madeBy, ...person }) {
      const operatorId = newId()
      const isNew = await store.insert({ operatorId, ...person })
      return isNew ? makeLink(operatorId, madeBy) : undefined
    },
    async setUpWithPassword(token, { password, code }) {
      const opened = await openLink(token)
      if (!opened) return { done: false, field: 'link', message: 'This link was used or is over.' }
      const { operator, totpSecret } = opened
      // Characters as people count them: the length of a text counts some of them twice.
      const { length } = [...password]
      if (length < passwordLengthMin || password.length > passwordLengthMax) {
        const message = `The password has ${length} characters; allowed are ${passwordLengthMin} to ${passwordLengthMax}.`
        return { done: false, field: 'password', message }
      }
      const step = findTotpStep(totpSecret, code, nowMs())
      if (step === undefined)
        return { done: false, field: 'code', message: 'This code is not the right one.' }
      const totp = await vault.seal('operator totp', installation, operator.operatorId, totpSecret)
      const passwordHash = await hashPassword(password)
      return (await store.setUpPassword(hashToken(token), { passwordHash, totp, totpStep: step }))
        ? { done: true, operator }
        : { done: false, field: 'link', message: 'This link was used or is over.' }
    },
    setUpWithPasskey: (token, passkey) => store.setUpPasskey(hashToken(token), passkey),
    async signIn({ email, password, code }) {
      const operator = await store.findByEmail(email)
      const isRight = await isPassword(password, operator?.passwordHash)
      if (!operator?.totp || !isRight) return undefined
      const { operatorId, totp } = operator
      const secret = await openTotp(operatorId, totp)
      // A person who sets up anew has another secret, so earlier guesses do not count against it.
      const guessed = `${operatorId} ${totp.sealed.toString('base64')}`
      // There is no `await` between this check and the count, so simultaneous tries cannot exceed the limit.
      if (wrongCodes.isOver(guessed, anywhere)) return undefined
      const step = findTotpStep(secret, code, nowMs())
      if (step === undefined) {
        wrongCodes.count(guessed, anywhere)
        return undefined
      }
      // Each code works only once, in case somebody else saw it.
      return (await store.takeTotpStep(operatorId, step)) ? operator : undefined
    },
    async startSession(operatorId, { address, browser }) {
      const token = randomBytes(tokenBytes).toString('base64url')
      const session = { sessionHash: hashToken(token), sessionId: newId(), operatorId }
      await store.insertSession({ ...session, address: address.slice(0, 64), browser: browser.slice(0, 256) })
      return token
    },
    openSession: (token, use) => store.openSession(hashToken(token), sessionLimits, use),
  }
}

/** Links with which people set up how to sign in, and the secret of one-time codes that each link keeps. */
function createLinks({ store, vault, nowMs }: Pick<PeopleDeps, 'store' | 'vault' | 'nowMs'>) {
  async function makeLink(operatorId: string, madeBy?: string): Promise<string> {
    const token = randomBytes(tokenBytes).toString('base64url')
    const expiresAt = new Date(nowMs() + linkMs)
    await store.insertLink({ tokenHash: hashToken(token), operatorId, expiresAt, madeBy })
    return `/console/setup/${token}`
  }

  const openTotp = (operatorId: string, { keyVersion, sealed }: SealedTotp): Promise<Buffer> =>
    vault.open('operator totp', installation, { recordId: operatorId, keyVersion, sealed })

  async function openLink(token: string): Promise<OpenedLink | undefined> {
    const tokenHash = hashToken(token)
    const link = await store.findLink(tokenHash)
    const operator = link && (await store.find(link.operatorId))
    if (!link || !operator) return undefined
    if (link.totp) return { operator, totpSecret: await openTotp(operator.operatorId, link.totp) }
    const secret = randomBytes(totpSecretBytes)
    await store.keepTotp(
      tokenHash,
      await vault.seal('operator totp', installation, operator.operatorId, secret),
    )
    // A second tab may have been faster: the stored secret counts.
    const kept = (await store.findLink(tokenHash))?.totp
    return kept && { operator, totpSecret: await openTotp(operator.operatorId, kept) }
  }

  return { makeLink, openLink, openTotp }
}

/** People for commands that need no server: opened on the database, used, and closed again. */
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
    const nowMs = Date.now
    const wrongCodes = createFailedLogins({ nowMs }, wrongCodesLimit)
    const result = await work(createPeople({ store, vault, newId, nowMs, wrongCodes }), store)
    if (broken) throw broken
    return result
  } finally {
    await database.close()
  }
}
