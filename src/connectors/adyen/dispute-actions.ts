/**
 * Accepts and defends disputes with Adyen's Dispute API v30. A defence takes three calls: the applicable reasons, the
 * documents, the defence itself. Text becomes a PDF, because Adyen accepts only documents.
 */
import { isRecord, type Loose, listAt, parseJson, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { toPdf } from '#connectors/adyen/text-to-pdf.ts'
import { isInProgress } from '#connectors/adyen/translate/refusals.ts'
import type { DisputeActions, DisputeFacts, Evidence, HttpAnswer, Outcome } from '#connectors/contract.ts'
import type { AnsweredDispute } from '#connectors/notice.ts'
import { foreignXId } from '#domain/ids.ts'

export type DisputeCall = (path: string, body: Loose, key: string, signal: AbortSignal) => Promise<HttpAnswer>

export function createDisputeActions(call: DisputeCall, merchantAccountCode: string): DisputeActions {
  // A dispute belongs to the merchant account that approved its payment, even if the setting has changed since.
  const about = ({ providerDisputeId, approval }: AnsweredDispute) => ({
    disputePspReference: providerDisputeId,
    merchantAccountCode: textAt(approval, 'merchantAccount') ?? merchantAccountCode,
  })
  return {
    async accept(dispute, key, signal) {
      return fromDisputeAnswer(await call('/acceptDispute', about(dispute), key, signal), dispute)
    },
    async submitEvidence(dispute, evidence, key, signal) {
      const reasons = await call(
        '/retrieveApplicableDefenseReasons',
        about(dispute),
        `${key}-reasons`,
        signal,
      )
      const defence = chooseDefence(readBody(reasons))
      if (defence === undefined) return withoutDefence(reasons, dispute)
      const defenseDocuments = toDocuments(evidence, defence.documentType)
      const supplied = await call(
        '/supplyDefenseDocument',
        { ...about(dispute), defenseDocuments },
        `${key}-documents`,
        signal,
      )
      const outcome = fromDisputeAnswer(supplied, dispute)
      if (outcome.kind !== 'approved') return outcome
      const body = { ...about(dispute), defenseReasonCode: defence.reason }
      return fromDisputeAnswer(await call('/defendDispute', body, key, signal), dispute)
    },
  }
}

const readBody = (answer: HttpAnswer): unknown =>
  answer.kind === 'answered' && answer.status < 300 ? parseJson(answer.body) : undefined

/** Prefers a reason that needs no further document, or else the first one that Adyen lists. */
export function chooseDefence(
  body: unknown,
): { readonly reason: string; readonly documentType: string } | undefined {
  const reasons = listAt(body, 'defenseReasons').filter(isRecord)
  const chosen = reasons.find(({ satisfied }) => satisfied === true) ?? reasons[0]
  const reason = textAt(chosen, 'defenseReasonCode')
  const documents = listAt(chosen, 'defenseDocumentTypes')
  const wanted = documents.find(type => textAt(type, 'requirementLevel') !== 'Optional') ?? documents[0]
  const documentType = textAt(wanted, 'defenseDocumentTypeCode') ?? 'DefenseMaterial'
  return reason === undefined ? undefined : { reason, documentType }
}

export function toDocuments({ text, files }: Evidence, defenseDocumentTypeCode: string): readonly Loose[] {
  const documents = files.map(({ type, content }) => ({
    defenseDocumentTypeCode,
    contentType: type === 'image/jpeg' ? 'image/jpg' : type,
    content: Buffer.from(content).toString('base64'),
  }))
  if (text === undefined) return documents
  const page = { contentType: 'application/pdf', content: toPdf(text).toString('base64') }
  return [...documents, { defenseDocumentTypeCode, ...page }]
}

/** A dispute is no operation, so there is no reference to echo; the engine identifies it by its own key. */
const toProvider = (dispute: DisputeFacts) => ({
  echo: { reference: foreignXId, amount: dispute.amount },
  transactionId: dispute.providerDisputeId,
})

function withoutDefence(answer: HttpAnswer, dispute: DisputeFacts): Outcome {
  const outcome = fromDisputeAnswer(answer, dispute)
  return outcome.kind === 'approved'
    ? {
        kind: 'declined',
        detail: '0312',
        provider: { ...toProvider(dispute), responseText: 'Adyen names no reason to defend this dispute' },
      }
    : outcome
}

export function fromDisputeAnswer(answer: HttpAnswer, dispute: DisputeFacts): Outcome {
  if (answer.kind === 'unreached') return { kind: 'unreached' }
  if (answer.kind === 'lost' || answer.status >= 500) return { kind: 'unknown' }
  // 429 Too Many Requests: not processed, so the call may be repeated.
  if (answer.status === 429) return { kind: 'unreached' }
  const body = parseJson(answer.body)
  // An HTML error page or a redirect comes from a proxy, not from Adyen.
  if (!isRecord(body) || (answer.status >= 300 && answer.status < 400)) return { kind: 'unknown' }
  if (isInProgress(answer.status, textAt(body, 'errorCode'))) return { kind: 'unknown' }
  const result = recordAt(body, 'disputeServiceResult')
  if (answer.status < 300 && result?.success === true)
    return { kind: 'approved', provider: toProvider(dispute) }
  if (answer.status < 300 && result?.success !== false) return { kind: 'unknown' }
  const responseText = textAt(result, 'errorMessage') ?? textAt(body, 'message')
  const callRefused = answer.status === 401 || answer.status === 403
  return {
    kind: 'declined',
    detail: '0312',
    ...(callRefused && { callRefused }),
    provider: { ...toProvider(dispute), responseText },
  }
}
