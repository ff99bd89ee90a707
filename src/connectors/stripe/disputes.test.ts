/** Disputes at Stripe: the calls that defend or accept one. */
import { describe, expect, test } from 'vitest'
import { answered, xId } from '#connectors/stripe/examples.test-support.ts'
import { refused, signal, talk } from '#connectors/stripe/talk.test-support.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'

describe('disputes', () => {
  const dispute = openDispute('dp_1')
  const answer = answered({
    id: 'dp_1',
    amount: 1000,
    currency: 'eur',
    status: 'under_review',
    reason: 'fraudulent',
  })
  const file = { name: 'proof "1".pdf', type: 'application/pdf', content: Uint8Array.of(0x25, 0xff, 0x00) }

  test('evidence is uploaded, then submitted', async () => {
    const { connector, calls, requests } = talk([
      answered({ id: 'file_1' }),
      answered({ id: 'file_2' }),
      answer,
    ])
    const evidence = { text: 'Delivered.', files: [file, file] }
    expect((await connector.disputes?.submitEvidence?.(dispute, evidence, xId('d1'), signal))?.kind).toBe(
      'approved',
    )
    expect(calls()).toEqual(['POST /v1/files', 'POST /v1/files', 'POST /v1/disputes/dp_1'])
    const upload = Buffer.from(requests[0]?.body ?? '')
    expect(upload.includes(Buffer.from(file.content))).toBe(true)
    expect(upload.toString('latin1')).toContain('filename="proof _1_.pdf"')
    expect(Object.fromEntries(new URLSearchParams(String(requests[2]?.body)))).toEqual({
      'evidence[uncategorized_text]': 'Delivered.',
      'evidence[uncategorized_file]': 'file_1',
      'evidence[customer_communication]': 'file_2',
      submit: 'true',
    })
  })

  test('accepting closes the dispute', async () => {
    const { connector, calls } = talk([answer])
    expect((await connector.disputes?.accept?.(dispute, xId('d1'), signal))?.kind).toBe('approved')
    expect(calls()).toEqual(['POST /v1/disputes/dp_1/close'])
  })

  test('a file that Stripe refuses is a decline, and nothing is submitted', async () => {
    const { connector, calls } = talk([
      refused({ type: 'invalid_request_error', message: 'Too large.' }, 400),
    ])
    const outcome = await connector.disputes?.submitEvidence?.(dispute, { files: [file] }, xId('d1'), signal)
    expect(outcome?.kind).toBe('declined')
    expect(calls()).toEqual(['POST /v1/files'])
  })
})
