/** `POST /services/accountUpdater`: updates of up to 10,000 cards, streamed. */
import { refusalCodes } from '#domain/response-codes.ts'
import { Secret } from '#domain/secret.ts'
import { serviceCall, succeeded } from '#endpoints/services/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { refusedAnswer } from '#http/answers/dialects.ts'
import { type Answer, endpoint } from '#http/endpoint.ts'
import { auditOpening } from '#operations/audit/audit.ts'
import { type AskedCard, type UpdateResult, updateCards } from '#operations/customers/update-cards.ts'
import { storeAnswer } from '#operations/key.ts'
import { type AccountUpdate, accountUpdate, accountUpdates } from '#schemas/services/account-updater.ts'

export const accountUpdaterEndpoint = endpoint<Services, typeof accountUpdate>({
  ...serviceCall,
  path: '/services/accountUpdater',
  operationId: 'updateAccounts',
  summary: 'Ask for new numbers and dates of cards',
  description:
    'Asks the schemes whether the cards have new numbers or dates. What is new goes into the vault and to the ' +
    'stored payment methods that hold the card. Without an `Idempotency-Key` results are sent as they come in; a ' +
    'transfer that breaks off is not complete.',
  body: accountUpdate,
  answers: { 200: accountUpdates },
  examples: [
    {
      summary: 'A card that was replaced and one that was closed',
      body: {
        transId: 'update-2026-11',
        cards: [
          { reference: 'ada', number: '4000000000003220', expiryDate: '202612' },
          { reference: 'bob', number: '4000000000003238' },
        ],
      },
      status: 200,
      answer: {
        transId: 'update-2026-11',
        ...succeeded,
        cards: [
          {
            reference: 'ada',
            pseudoCardNumber: '0718293645017220',
            updateStatus: 'CARD_UPDATED',
            newPseudoCardNumber: '0415263748590253',
            newExpiryDate: '203512',
            last4Digits: '3253',
            brand: 'visa',
          },
          {
            reference: 'bob',
            pseudoCardNumber: '0564738291047238',
            updateStatus: 'CARD_CLOSED',
            last4Digits: '3238',
            brand: 'visa',
          },
        ],
      },
    },
  ],
  async handle({ body, merchant, key, traceId, address }, { engine, lookUps, audit }) {
    const accounts = await engine.providers.enabled(merchant.merchantId)
    const account = accounts.find(({ connector }) => connector.updateCards) ?? accounts[0]
    const connector = account?.connector
    const ask = connector?.updateCards?.bind(connector)
    if (!ask) {
      const code = refusalCodes[connector ? 'METHOD_LACKS_OPERATION' : 'NO_CONNECTOR']
      return perform(storeAnswer(refusedAnswer(code, traceId), { merchant, key }, engine))
    }
    const cards = body.cards.filter(({ number = '0' }) => number.startsWith('0')).length
    const { merchantId } = merchant
    await auditOpening({ merchantId, from: address, purpose: 'account updater', cards }, audit)
    const run = { merchant, cards: body.cards.map(toAsked), ask }
    const slices = updateCards(run, { ...engine, ...lookUps })
    const pieces = write(body.transId, slices)
    if (!key) return openAnswer(pieces)
    const json = await perform(collect(pieces))
    return perform(storeAnswer({ status: 200, json }, { merchant, key }, engine))
  },
})

type SentCard = AccountUpdate['cards'][number]

/** The schema lets through either a number or both ids. */
function toAsked({
  reference,
  number,
  expiryDate,
  gatewayCustomerId = '',
  paymentMethodId = '',
}: SentCard): AskedCard {
  return number === undefined
    ? { reference, gatewayCustomerId, paymentMethodId }
    : { reference, number: new Secret(number), expiryDate }
}

/** The answer's text, a piece for each slice. */
async function* write(
  transId: string,
  slices: AsyncIterable<readonly UpdateResult[]>,
): AsyncGenerator<string> {
  const head = JSON.stringify({ transId, ...succeeded })
  let opening = `${head.slice(0, -1)},"cards":[`
  for await (const results of slices) {
    yield opening + results.map(result => JSON.stringify(result)).join(',')
    opening = ','
  }
  yield ']}'
}

/** Waits for the first piece: errors until then are answered like any other. */
async function openAnswer(pieces: AsyncGenerator<string>): Promise<Answer> {
  const first = await perform(pieces.next())
  return { status: 200, json: first.value, rest: pieces }
}

async function collect(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}
