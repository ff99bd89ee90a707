import { describe, expect, test } from 'vitest'
import { createDisputeActions } from '#connectors/adyen/dispute-actions.ts'
import { toPdf } from '#connectors/adyen/text-to-pdf.ts'
import type { HttpAnswer } from '#connectors/contract.ts'
import { absenceNote, compileDocument, hasAdyenDocuments } from '#test/support/adyen/documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'

const dispute = openDispute('DISPUTE1')
const signal = new AbortController().signal
const done = { disputeServiceResult: { success: true } }
const reasons = {
  ...done,
  defenseReasons: [
    {
      defenseReasonCode: 'GoodsOrServicesProvided',
      satisfied: false,
      defenseDocumentTypes: [
        { defenseDocumentTypeCode: 'Extra', requirementLevel: 'Optional', available: false },
        { defenseDocumentTypeCode: 'DeliveryNote', requirementLevel: 'Required', available: false },
      ],
    },
  ],
}

/** Adyen's Dispute API with scripted answers; records its requests. */
function scripted(answers: Readonly<Record<string, [number, AnyJson]>>) {
  const asked: { path: string; body: AnyJson; key: string }[] = []
  const call = async (path: string, body: AnyJson, key: string): Promise<HttpAnswer> => {
    asked.push({ path, body, key })
    const [status, answer] = answers[path] ?? [500, {}]
    return { kind: 'answered', status, headers: {}, body: JSON.stringify(answer) ?? '<html>' }
  }
  return { asked, actions: createDisputeActions(call, 'ExampleShopECOM') }
}

const file = { name: 'a.jpg', type: 'image/jpeg', content: Buffer.from('picture') }

describe('responding to a dispute', () => {
  test('accepting it takes one call', async () => {
    const { asked, actions } = scripted({ '/acceptDispute': [200, done] })
    expect(await actions.accept?.(dispute, 'key-1', signal)).toMatchObject({ kind: 'approved' })
    expect(asked).toEqual([
      {
        path: '/acceptDispute',
        key: 'key-1',
        body: { disputePspReference: 'DISPUTE1', merchantAccountCode: 'ExampleShopECOM' },
      },
    ])
  })

  test.each([301, 304, 307])('a redirect (%i) is no decision of Adyen, whatever its body', async status => {
    const { actions } = scripted({ '/acceptDispute': [status, { message: 'moved' }] })
    expect(await actions.accept?.(dispute, 'key-1', signal)).toEqual({ kind: 'unknown' })
  })

  test('defending it sends the reason and the document that Adyen requires', async () => {
    const { asked, actions } = scripted({
      '/retrieveApplicableDefenseReasons': [200, reasons],
      '/supplyDefenseDocument': [200, done],
      '/defendDispute': [200, done],
    })
    const evidence = { text: 'Delivered (signed)', files: [file] }
    expect(await actions.submitEvidence?.(dispute, evidence, 'key-1', signal)).toMatchObject({
      kind: 'approved',
    })
    const [, documents, defence] = asked
    expect(documents?.body.defenseDocuments).toMatchObject([
      { defenseDocumentTypeCode: 'DeliveryNote', contentType: 'image/jpg' },
      { defenseDocumentTypeCode: 'DeliveryNote', contentType: 'application/pdf' },
    ])
    expect(defence?.body.defenseReasonCode).toBe('GoodsOrServicesProvided')
    if (!hasAdyenDocuments) return
    const compile = compileDocument('DisputeService-v30.json')
    expect(compile('SupplyDefenseDocumentRequest')(documents?.body)).toBeUndefined()
    expect(compile('DefendDisputeRequest')(defence?.body)).toBeUndefined()
  })

  test.each([
    ['Adyen names no reason', { '/retrieveApplicableDefenseReasons': [200, done] }, 'declined'],
    ['the reasons cannot be read', {}, 'unknown'],
    [
      'the documents are refused',
      {
        '/retrieveApplicableDefenseReasons': [200, reasons],
        '/supplyDefenseDocument': [
          200,
          { disputeServiceResult: { success: false, errorMessage: 'Too late' } },
        ],
      },
      'declined',
    ],
    [
      'the defence is not answered',
      { '/retrieveApplicableDefenseReasons': [200, reasons], '/supplyDefenseDocument': [200, done] },
      'unknown',
    ],
  ] as [string, Record<string, [number, AnyJson]>, string][])(
    'the outcome is right when %s',
    async (_, answers, kind) => {
      const { actions } = scripted(answers)
      const outcome = await actions.submitEvidence?.(dispute, { text: 'x', files: [] }, 'key-1', signal)
      expect(outcome?.kind).toBe(kind)
    },
  )
})

test.each([
  [429, { status: 429, errorCode: '000' }, 'unreached'],
  [404, undefined, 'unknown'],
  [409, { status: 409, errorCode: '00_409', message: 'Conflict' }, 'unknown'],
  [422, { status: 422, errorCode: '704', message: 'Request already processed or in progress' }, 'unknown'],
  [422, { status: 422, errorCode: '167', message: 'No such dispute' }, 'declined'],
  [401, { status: 401, errorCode: '000' }, 'declined', true],
  [403, { status: 403, errorCode: '010' }, 'declined', true],
] as [number, AnyJson, string, true?][])('HTTP %s of %j is %s', async (status, body, kind, callRefused) => {
  const { actions } = scripted({ '/acceptDispute': [status, body] })
  const outcome = await actions.accept?.(dispute, 'key-1', signal)
  expect(outcome?.kind).toBe(kind)
  expect(outcome && 'callRefused' in outcome).toBe(callRefused ?? false)
})

test('a text becomes a PDF with a correct cross-reference table', () => {
  const pdf = toPdf(`First (line)\n${'long '.repeat(2000)}\nÜber 漢`).toString('latin1')
  expect(pdf.startsWith('%PDF-1.4')).toBe(true)
  const start = Number(/startxref\n(\d+)/.exec(pdf)?.[1])
  expect(pdf.slice(start, start + 4)).toBe('xref')
  const offsets = [...pdf.slice(start).matchAll(/^(\d{10}) 00000 n/gm)].map(([, offset]) => Number(offset))
  for (const [index, offset] of offsets.entries())
    expect(pdf.slice(offset).startsWith(`${index + 1} 0 obj`)).toBe(true)
  expect(pdf).toContain("(First \\(line\\)) '")
  expect(pdf).toContain('\xdcber ?')
  expect(/\/Count (\d+)/.exec(pdf)?.[1]).toBe('2')
})

test('the tests against Adyen’s document run, or are reported as skipped', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
})
