/** A self-signed certificate for 127.0.0.1 and localhost. Its key is fresh: no private key lies in the repository. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const tag = (number: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  const length =
    content.length < 128
      ? Buffer.from([content.length])
      : Buffer.from([0x82, content.length >> 8, content.length & 0xff])
  return Buffer.concat([Buffer.from([number]), length, content])
}

const sequence = (...parts: readonly Buffer[]) => tag(0x30, ...parts)
const oid = (hex: string) => tag(0x06, Buffer.from(hex, 'hex'))
const text = (value: string) => tag(0x0c, Buffer.from(value))
const time = (value: string) => tag(0x18, Buffer.from(value))
const bitString = (bytes: Buffer) => tag(0x03, Buffer.from([0]), bytes)

/** ecdsa-with-SHA256 */
const algorithm = sequence(oid('2a8648ce3d040302'))

/** commonName = tollgate test */
const name = sequence(tag(0x31, sequence(oid('550403'), text('tollgate test'))))

/** subjectAltName: DNS localhost, IP 127.0.0.1 */
const alternativeNames = sequence(
  oid('551d11'),
  tag(0x04, sequence(tag(0x82, Buffer.from('localhost')), tag(0x87, Buffer.from([127, 0, 0, 1])))),
)

/** `notAfter`: with which second it ends, in a hundred years unless given. */
export function makeCertificate(notAfter = new Date('2120-01-01T00:00:00Z')): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const content = sequence(
    tag(0xa0, tag(0x02, Buffer.from([2]))),
    // A serial number is positive, so its first bit is 0.
    tag(0x02, Buffer.from([1]), randomBytes(8)),
    algorithm,
    name,
    sequence(time('20200101000000Z'), time(notAfter.toISOString().replace(/[-:T]|\.\d+/g, ''))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tag(0xa3, sequence(alternativeNames)),
  )
  const certificate = sequence(content, algorithm, bitString(sign('sha256', content, privateKey)))
  // Joined, not ended, by line breaks: an empty last line makes the whole text unreadable.
  const lines = (certificate.toString('base64').match(/.{1,64}/g) ?? []).join('\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
