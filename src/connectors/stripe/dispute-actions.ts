/** The merchant's responses to a dispute: accept it, or send evidence as text and files. */
import type { DisputeActions, DisputeFacts, Evidence } from '#connectors/contract.ts'
import type { StripeClient } from '#connectors/stripe/client.ts'
import { filePlaces, readDispute, toEvidence } from '#connectors/stripe/translate/disputes.ts'
import {
  type Asked,
  declined,
  readAnswer,
  readRefusal,
  unknown,
} from '#connectors/stripe/translate/outcomes.ts'
import { type Form, textAt } from '#connectors/stripe/translate/wire.ts'
import { foreignXId } from '#domain/ids.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

/** A dispute is no operation, so there is no reference to echo. */
const askedAbout = ({ amount }: DisputeFacts): Asked => ({ reference: foreignXId, amount })

export function createDisputeActions(client: StripeClient): DisputeActions {
  const send = async (path: string, call: Call, signal: AbortSignal): Promise<Outcome> => {
    const { asked, key, form } = call
    const reading = readAnswer(await client.post(path, { form, key }, signal))
    if (reading.kind === 'none') return reading.outcome
    if (reading.kind === 'refused') return readRefusal(reading, asked)
    const facts = readDispute(reading.object)
    return facts === undefined
      ? unknown
      : {
          kind: 'approved',
          provider: {
            echo: { reference: asked.reference, amount: facts.amount },
            transactionId: facts.providerDisputeId,
            responseCode: '00',
          },
        }
  }
  const pathOf = (dispute: DisputeFacts): string =>
    `/v1/disputes/${encodeURIComponent(dispute.providerDisputeId)}`
  return {
    async accept(dispute, key, signal) {
      return send(`${pathOf(dispute)}/close`, { asked: askedAbout(dispute), key, form: {} }, signal)
    },
    async submitEvidence(dispute, evidence, key, signal) {
      const asked = askedAbout(dispute)
      if (evidence.files.length > filePlaces.length) {
        return declined(asked, '0312', `Stripe takes at most ${filePlaces.length} files.`)
      }
      const fileIds = await uploadAll(client, evidence, { asked, key, signal })
      if (!Array.isArray(fileIds)) return fileIds
      return send(pathOf(dispute), { asked, key, form: toEvidence(evidence, fileIds) }, signal)
    },
  }
}

interface Call {
  readonly asked: Asked
  readonly key: string
  readonly form: Form
}

/** Uploaded files have no effect until they are submitted, so a failed upload is simply a refusal. */
async function uploadAll(
  client: StripeClient,
  { files }: Evidence,
  { asked, key, signal }: { readonly asked: Asked; readonly key: string; readonly signal: AbortSignal },
): Promise<string[] | Outcome> {
  const ids: string[] = []
  for (const [index, file] of files.entries()) {
    const reading = readAnswer(await client.upload({ ...file, key: `${key}-file-${index + 1}` }, signal))
    if (reading.kind === 'refused') return readRefusal(reading, asked)
    const id = reading.kind === 'object' ? textAt(reading.object, 'id') : undefined
    if (id === undefined) return { kind: 'unreached' }
    ids.push(id)
  }
  return ids
}
