/** Checks an account with one harmless call (`/paymentMethods`): whether the key and the merchant account are right. */
import { isRecord, listAt, parseJson, textAt } from '#connectors/adyen/loose.ts'
import { isUnknownAccount } from '#connectors/adyen/translate/refusals.ts'
import type { CheckFinding, HttpAnswer } from '#connectors/contract.ts'

const key = (ok: boolean, detail: string): CheckFinding => ({ name: 'apiKey', ok, detail })
const account = (ok: boolean, detail: string): CheckFinding => ({ name: 'merchantAccount', ok, detail })

/** This key cannot query Adyen's webhook settings, so only the first notice to arrive proves them. */
const notices: CheckFinding = {
  name: 'notices',
  ok: true,
  detail:
    'Not checked: send a test notification from the Customer Area to the notice address, then see `notices list`',
}

/** Every answer of v72 has `paymentMethods`. Without it other answers may have changed too and would not be trusted. */
const otherVersion: CheckFinding = {
  name: 'version',
  ok: false,
  detail: 'Adyen’s answer to /v72/paymentMethods lacks paymentMethods: it speaks another version of its API',
}

export function fromCheck(answer: HttpAnswer, merchantAccount: string): readonly CheckFinding[] {
  if (answer.kind !== 'answered')
    return [{ name: 'connection', ok: false, detail: `Adyen was not reached: ${answer.reason}` }]
  const body = parseJson(answer.body)
  const message = textAt(body, 'message') ?? 'no explanation'
  switch (answer.status) {
    case 200:
      if (!isRecord(body) || !Array.isArray(body.paymentMethods))
        return [key(true, 'Adyen accepts the key'), otherVersion]
      return [
        key(true, 'Adyen accepts the key'),
        account(true, `${merchantAccount} offers ${listAt(body, 'paymentMethods').length} payment methods`),
        notices,
      ]
    case 401:
      return [key(false, `Adyen refuses the key (HTTP 401: ${message})`)]
    case 403:
      if (isUnknownAccount(textAt(body, 'errorCode')))
        return [
          key(true, 'Adyen knows the key'),
          account(false, `Adyen refuses ${merchantAccount} (HTTP 403, error 901: ${message})`),
        ]
      return [
        key(false, `The key lacks a role, or access to ${merchantAccount} (HTTP 403: ${message})`),
        account(false, `Adyen does not let this key use ${merchantAccount}`),
      ]
    case 400:
    case 422:
      return [
        key(true, 'Adyen accepts the key'),
        account(false, `Adyen refuses ${merchantAccount} (error ${textAt(body, 'errorCode')}: ${message})`),
      ]
    default:
      return [{ name: 'connection', ok: false, detail: `Adyen answered HTTP ${answer.status}: ${message}` }]
  }
}
