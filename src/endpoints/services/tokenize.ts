/** `POST /services/tokenService`: a pseudo number for a card number or an IBAN. */

import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { isPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { type Refusal, refusalCodes } from '#domain/response-codes.ts'
import { Secret } from '#domain/secret.ts'
import { serviceCall, succeeded } from '#endpoints/services/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { refusedAnswer } from '#http/answers/dialects.ts'
import { type Answer, answer, endpoint } from '#http/endpoint.ts'
import { auditOpening } from '#operations/audit/audit.ts'
import { type PseudoNumber, tokenize } from '#operations/customers/tokenize.ts'
import { tokenAnswer, tokenQuestion } from '#schemas/services/tokenize.ts'

const tokenTypes = { CARD: 'PSEUDO_CARD_NUMBER', IBAN: 'PSEUDO_BANK_ACCOUNT_NUMBER' } as const

export const tokenizeEndpoint = endpoint<Services, typeof tokenQuestion>({
  ...serviceCall,
  path: '/services/tokenService',
  operationId: 'exchangeNumber',
  summary: 'Exchange a number for a pseudo number',
  description:
    'Keeps the card or the account in the vault and answers with the pseudo number that stands for it at this ' +
    'merchant: the same number always gives the same one. Wrong check digits answer 422.',
  body: tokenQuestion,
  answers: { 200: tokenAnswer },
  examples: [
    {
      summary: 'A card',
      body: { type: 'CARD', number: '4111111111111111', expiryDate: '203012' },
      status: 200,
      answer: {
        token: '0718293645017111',
        tokenType: 'PSEUDO_CARD_NUMBER',
        last4Digits: '1111',
        brand: 'visa',
        ...succeeded,
      },
    },
    {
      summary: 'A bank account',
      body: { type: 'IBAN', number: 'DE89370400440532013000' },
      status: 200,
      answer: {
        token: 'ZZ00BXKRTLMWQSPDHN3000',
        tokenType: 'PSEUDO_BANK_ACCOUNT_NUMBER',
        last4Digits: '3000',
        ...succeeded,
      },
    },
    {
      summary: 'A slip of the finger',
      body: { type: 'CARD', number: '4111111111111112' },
      status: 422,
      answer: {
        type: 'urn:tollgate:problem:refused',
        title: 'A rule forbids this request',
        status: 422,
        detail: 'The card number or IBAN has wrong check digits.',
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        responseCode: '20120001',
      },
    },
  ],
  async handle({ body, merchant, key, traceId, address }, { engine, lookUps, audit }) {
    const { type, number, expiryDate } = body
    const answerWith = (found: PseudoNumber | Refusal): Answer => {
      if (typeof found === 'string') return refusedAnswer(refusalCodes[found], traceId)
      const { pseudoNumber, last4Digits, brand } = found
      return answer(200, {
        token: pseudoNumber,
        tokenType: tokenTypes[type],
        last4Digits,
        brand,
        ...succeeded,
      })
    }
    // A pseudo number decrypts the stored number, if only to describe it, so this is audited.
    const cards = isPseudoCardNumber(number) || isPseudoAccountNumber(number) ? 1 : 0
    const { merchantId } = merchant
    await auditOpening({ merchantId, from: address, purpose: 'tokenization', cards }, audit)
    const request = { merchant, kind: type, number: new Secret(number), expiryDate, key }
    return perform(tokenize(request, answerWith, { ...lookUps, ...engine }))
  },
})
