/** A passkey in memory, as a phone keeps it: it signs challenges and never counts its uses. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'

export interface SoftwarePasskey {
  /** In the form of COSE (RFC 9053), as it is stored. */
  readonly publicKey: Buffer
  /** The answer of a browser to a challenge, as the form of the sign-in page carries it. */
  answer(asked: { readonly challenge: string; readonly origin: string }): string
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()

/** Present and verified: the person was there and showed who they are. */
const flags = 0x05

export function createSoftwarePasskey(credentialId: string): SoftwarePasskey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const part = (label: number, coordinate: string): Buffer =>
    Buffer.concat([Buffer.from([label, 0x58, 0x20]), Buffer.from(coordinate, 'base64url')])
  return {
    // A map of five: elliptic curve, ES256, P-256 and both coordinates.
    publicKey: Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]),
      part(0x21, x),
      part(0x22, y),
    ]),
    answer({ challenge, origin }) {
      const client = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin }))
      const authenticator = Buffer.concat([
        sha256(new URL(origin).hostname),
        Buffer.from([flags]),
        Buffer.alloc(4),
      ])
      const signature = sign('sha256', Buffer.concat([authenticator, sha256(client)]), privateKey)
      return JSON.stringify({
        id: credentialId,
        rawId: credentialId,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authenticator.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      })
    },
  }
}
