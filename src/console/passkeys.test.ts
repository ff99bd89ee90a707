/** The sign-in that anybody may begin: as the library would begin it, and without loading it. */
import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { createPasskeys } from '#console/passkeys.ts'
import type { PeopleStore } from '#storage/console/people.ts'

let loaded = 0
const openWebAuthn = () => {
  loaded += 1
  return import('@simplewebauthn/server')
}

const asked: string[] = []
const store: Pick<PeopleStore, 'findPasskey'> = {
  async findPasskey(credentialId) {
    asked.push(credentialId)
    return undefined
  },
}
const key = createSecretKey(Buffer.alloc(32, 7))
const passkeys = createPasskeys({
  store: store as PeopleStore,
  used: { claim: async () => true },
  key: () => key,
  nowMs: () => 1_000,
  openWebAuthn,
})
const site = { host: 'pay.example', origin: 'https://pay.example' }

test('neither the page nor an unknown passkey loads the library', async () => {
  const { challenge } = await passkeys.beginSignIn(site)
  const credential = JSON.stringify({ id: 'nobody', response: {} })
  expect(await passkeys.finishSignIn({ challenge, credential }, site)).toBeUndefined()
  expect(await passkeys.finishSignIn({ challenge: 'forged', credential }, site)).toBeUndefined()
  expect([asked, loaded]).toEqual([['nobody', 'nobody'], 0])
})

test('the browser is asked as the library asks it', async () => {
  const { options, challenge } = await passkeys.beginSignIn(site)
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  const [value = ''] = challenge.split('.')
  const same = await generateAuthenticationOptions({
    rpID: site.host,
    challenge: Buffer.from(value, 'base64url'),
    userVerification: 'required',
  })
  expect(JSON.parse(JSON.stringify(options))).toEqual(JSON.parse(JSON.stringify(same)))
})
