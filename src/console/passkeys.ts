/**
 * Passkeys (WebAuthn). The challenge of a ceremony is in the form, signed and dated, so that no process has to store it
 * and any process can finish the ceremony. A challenge that has signed a person in is stored until it expires, so that
 * it works only once.
 */
import { createHash, createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FormStore } from '#storage/console/forms.ts'
import type { Operator, Passkey, PeopleStore } from '#storage/console/people.ts'

export interface Site {
  /** The host name without its port. */
  readonly host: string
  readonly origin: string
}

export interface PasskeyDeps {
  readonly store: PeopleStore
  /** Challenges that have signed a person in; stored for longer than a challenge is valid. */
  readonly used: Pick<FormStore, 'claim'>
  /** Signs challenges. */
  readonly key: () => KeyObject
  readonly nowMs: () => number
  readonly openWebAuthn?: typeof importWebAuthn
}

/**
 * Loaded with the first passkey of a known person: the library has 300 files, and loading them blocks all requests for
 * a quarter of a second. The sign-in page, which anybody may open, does not need it.
 */
const importWebAuthn = () => import('@simplewebauthn/server')

/** 5 minutes: as long as a person may take with the dialogue of the browser. */
const challengeMs = 5 * 60 * 1000

/** A minute, as browsers suggest. */
const dialogueMs = 60_000

export interface Ceremony {
  readonly options: unknown
  /** The browser returns it with its answer. */
  readonly challenge: string
}

export interface Passkeys {
  beginRegistration(operator: Operator, site: Site): Promise<Ceremony>
  /** Undefined: refused. The caller stores the passkey. */
  finishRegistration(operator: Operator, answer: Answered, site: Site): Promise<Passkey | undefined>
  beginSignIn(site: Site): Promise<Ceremony>
  /** The id of the person; undefined: refused. */
  finishSignIn(answer: Answered, site: Site): Promise<string | undefined>
}

export interface Answered {
  readonly challenge: string
  /** The credential as JSON text. */
  readonly credential: string
}

export function createPasskeys(deps: PasskeyDeps): Passkeys {
  const { store, used, openWebAuthn = importWebAuthn } = deps
  const { makeChallenge, readChallenge } = createChallenges(deps)
  return {
    async beginRegistration(operator, { host }) {
      const challenge = makeChallenge()
      const options = await (await openWebAuthn()).generateRegistrationOptions({
        rpName: 'Tollgate',
        rpID: host,
        userID: Buffer.from(operator.operatorId, 'hex'),
        userName: operator.email,
        challenge: Buffer.from(challenge.value, 'base64url'),
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      return { options, challenge: challenge.token }
    },
    async finishRegistration(operator, { challenge, credential }, { host, origin }) {
      const expectedChallenge = readChallenge(challenge)
      if (expectedChallenge === undefined) return undefined
      const { verified, registrationInfo } = await (await openWebAuthn())
        .verifyRegistrationResponse({
          response: JSON.parse(credential),
          expectedChallenge,
          expectedOrigin: origin,
          expectedRPID: host,
          requireUserVerification: true,
        })
        .catch(() => ({ verified: false as const, registrationInfo: undefined }))
      if (!verified || !registrationInfo) return undefined
      const { id, publicKey, counter } = registrationInfo.credential
      const { operatorId } = operator
      return { credentialId: id, operatorId, publicKey: Buffer.from(publicKey), counter }
    },
    async beginSignIn({ host }) {
      const challenge = makeChallenge()
      const options = {
        rpId: host,
        challenge: challenge.value,
        timeout: dialogueMs,
        userVerification: 'required',
      }
      return { options, challenge: challenge.token }
    },
    async finishSignIn({ challenge, credential }, { host, origin }) {
      const expectedChallenge = readChallenge(challenge)
      const response = JSON.parse(credential)
      const passkey = await store.findPasskey(String(response?.id ?? ''))
      if (expectedChallenge === undefined || !passkey) return undefined
      const { verified, authenticationInfo } = await (await openWebAuthn())
        .verifyAuthenticationResponse({
          response,
          expectedChallenge,
          expectedOrigin: origin,
          expectedRPID: host,
          requireUserVerification: true,
          credential: {
            id: passkey.credentialId,
            publicKey: new Uint8Array(passkey.publicKey),
            counter: passkey.counter,
          },
        })
        .catch(() => ({ verified: false as const, authenticationInfo: undefined }))
      if (!verified || !authenticationInfo) return undefined
      // Most passkeys have no signature counter, so without this an intercepted answer could be replayed.
      if (!(await used.claim(nameOf(expectedChallenge)))) return undefined
      await store.setCounter(passkey.credentialId, authenticationInfo.newCounter)
      return passkey.operatorId
    },
  }
}

const nameOf = (challenge: string): string =>
  createHash('sha256').update(`passkey ${challenge}`).digest('hex')

/** A challenge contains its expiry and our signature, so nothing is stored between the two halves of a ceremony. */
function createChallenges({ key, nowMs }: Pick<PasskeyDeps, 'key' | 'nowMs'>) {
  const sign = (text: string): string => createHmac('sha256', key()).update(text).digest('base64url')

  function makeChallenge(): { readonly value: string; readonly token: string } {
    const value = randomBytes(32).toString('base64url')
    const body = `${value}.${nowMs() + challengeMs}`
    return { value, token: `${body}.${sign(body)}` }
  }

  /** Undefined: forged or expired. */
  function readChallenge(token: string): string | undefined {
    const [value = '', until = '', signature = ''] = token.split('.')
    const expected = Buffer.from(sign(`${value}.${until}`))
    const given = Buffer.from(signature)
    const isOurs = given.length === expected.length && timingSafeEqual(given, expected)
    return isOurs && Number(until) > nowMs() ? value : undefined
  }

  return { makeChallenge, readChallenge }
}
