/** `payments create|capture|refund`: tries out a running gateway, as a shop would use it over the API. */
import { randomUUID } from 'node:crypto'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { addCredentialOptions, type CredentialOptions, signIn } from '#commands/developer/credentials.ts'
import { CommandFault, explainFaults } from '#commands/faults.ts'
import { paintState } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { parsePayId } from '#domain/ids.ts'
import { isActiveCurrency, toDecimalText } from '#domain/money/currencies.ts'
import { adviceMeanings, describe } from '#domain/response-codes.ts'
import { ClientFault, type GatewayClient } from '#webhooks/gateway-client.ts'

interface Result {
  readonly payId: string
  readonly transId: string
  readonly status: string
  readonly responseCode: string
  readonly responseDescription: string
}

interface Sums {
  readonly value: number
  readonly currency: string
  readonly authorizedValue?: number
  readonly capturedValue?: number
  readonly refundedValue?: number
  readonly reversedValue?: number
  readonly returnedValue?: number
  readonly disputedValue?: number
}

interface CommonOptions extends CredentialOptions {
  readonly json?: true
}

interface CreateOptions extends CommonOptions {
  readonly amount: number
  readonly currency: string
  readonly card: string
  readonly transId?: string
  readonly email?: string
  readonly manual?: true
}

const say = (line: string): void => console.log(line)

const jsonOption = () => new Option('--json', 'print one line of JSON: the answer of the API')

/** Approves everything. */
const usualCard = '4111111111111111'

export function addTryCommands(payments: Command, readConfig: () => Config): void {
  const create = payments
    .command('create')
    .description('Makes a payment with a test card. Only for the test environment.')
    .option('--amount <value>', 'in the smallest unit', parseAmount, 1000)
    .option('--currency <code>', 'ISO 4217', parseCurrency, 'EUR')
    .option('--card <number>', 'a published test card; docs/test-cards.md lists them', parseCard, usualCard)
    .option('--trans-id <id>', 'your own id for the payment (default: a random one)')
    .option('--email <address>', "the customer's e-mail address")
    .option('--manual', 'authorise only; capture it later')
    .addOption(jsonOption())
  addCredentialOptions(create).action((options: CreateOptions) =>
    explainFaults(createPayment(options, readConfig())),
  )
  for (const act of acts) {
    const command = payments
      .command(act.name)
      .argument('<payId>', 'the payment')
      .description(act.description)
      .option('--amount <value>', 'in the smallest unit (default: all that is left)', parseAmount)
      .addOption(jsonOption())
    addCredentialOptions(command).action((text: string, options: CommonOptions & { amount?: number }) =>
      explainFaults(move(act, text, options, readConfig())),
    )
  }
}

async function createPayment(options: CreateOptions, config: Config): Promise<void> {
  const { client } = await signIn(options, config)
  await refuseLive(client)
  const { amount, currency, card, email, transId = `try-${randomUUID()}`, manual } = options
  const { now } = await client.get<{ now: string }>('/test/clock')
  const answer = await client.send('POST', '/payments', {
    transId,
    amount: { value: amount, currency },
    captureMethod: { type: manual ? 'MANUAL' : 'AUTOMATIC' },
    ...(email === undefined ? {} : { customerInfo: { email } }),
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: card, expiryDate: `${Number(now.slice(0, 4)) + 3}12`, securityCode: '123' },
    },
  })
  printAnswer(answer, { amount, currency }, options)
}

/** In live, card numbers must not be on the command line. */
async function refuseLive(client: GatewayClient): Promise<void> {
  try {
    await client.get('/test/catalogue')
  } catch (error) {
    if (error instanceof ClientFault && error.status === 404)
      throw new CommandFault(
        'payments create works in the test environment only; in live, make a link or a session and let the customer type the card',
      )
    throw error
  }
}

interface Act {
  readonly name: 'capture' | 'refund'
  readonly path: 'captures' | 'refunds'
  readonly description: string
  readonly left: (sums: Sums) => number
  readonly nothing: string
}

const acts: readonly Act[] = [
  {
    name: 'capture',
    path: 'captures',
    description: 'Captures an authorised payment, whole or in part.',
    left: ({ authorizedValue = 0, capturedValue = 0, reversedValue = 0 }) =>
      authorizedValue - capturedValue - reversedValue,
    nothing: 'nothing of it is left to capture',
  },
  {
    name: 'refund',
    path: 'refunds',
    description: 'Refunds a captured payment, whole or in part.',
    left: ({ capturedValue = 0, refundedValue = 0, returnedValue = 0, disputedValue = 0 }) =>
      capturedValue - refundedValue - returnedValue - disputedValue,
    nothing: 'nothing of it is left to refund',
  },
]

async function move(
  { path, left, nothing }: Act,
  text: string,
  options: CommonOptions & { readonly amount?: number },
  config: Config,
): Promise<void> {
  const payId = parsePayId(text)
  if (!payId)
    throw new CommandFault(`"${text}" is not a payId; "tollgate payments find" shows payments and their ids`)
  const { client, merchantId } = await signIn(options, config)
  const sums = await readSums(client, payId, merchantId)
  const { currency } = sums
  const amount = options.amount ?? left(sums)
  if (amount <= 0)
    throw new CommandFault(
      `payment ${payId}: ${nothing}; "tollgate payments show ${payId}" shows its history`,
    )
  const body = { transId: `try-${randomUUID()}`, amount: { value: amount, currency } }
  printAnswer(await client.send('POST', `/payments/${payId}/${path}`, body), { amount, currency }, options)
}

async function readSums(client: GatewayClient, payId: string, merchantId: string): Promise<Sums> {
  try {
    return (await client.get<{ amount: Sums }>(`/payments/getByPayId/${payId}`)).amount
  } catch (error) {
    if (error instanceof ClientFault && error.status === 404)
      throw new CommandFault(
        `${merchantId} has no payment ${payId}; name its merchant with --merchant and --key`,
      )
    throw error
  }
}

/** Prints the answer for people or as JSON; a decline makes the command fail, with the advice for its code. */
function printAnswer(
  answer: { readonly status: number; readonly body: unknown },
  { amount, currency }: { readonly amount: number; readonly currency: string },
  { json }: CommonOptions,
): void {
  // A result or one of the two shapes of a refusal, as the OpenAPI document says; the gateway is ours.
  const { payId, transId, status, responseCode, responseDescription, error, detail } = answer.body as Partial<
    Result & { error: string; detail: string }
  >
  if (json) say(JSON.stringify(answer.body))
  else if (responseCode !== undefined)
    say(
      `${paintState(status ?? 'FAILED')}  ${toDecimalText(amount, currency)} ${currency}  ${payId ?? ''}  ${transId ?? ''}  ` +
        `${responseCode} ${responseDescription ?? ''}`,
    )
  if (answer.status < 300) return
  if (responseCode === undefined)
    throw new CommandFault(`the gateway refused it: ${error ?? detail ?? `status ${answer.status}`}`)
  throw new CommandFault(
    `${responseDescription ?? 'declined'} What to do: ${adviceMeanings[describe(responseCode).advice]}`,
  )
}

function parseAmount(text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number of the smallest unit, such as 1000 for 10.00.')
}

function parseCurrency(text: string): string {
  const code = text.toUpperCase()
  if (isActiveCurrency(code)) return code
  throw new InvalidArgumentError('It must be an ISO 4217 code such as EUR.')
}

function parseCard(text: string): string {
  const digits = text.replace(/[ -]/g, '')
  if (/^\d{12,19}$/.test(digits)) return digits
  throw new InvalidArgumentError('It must be the number of a test card, such as 4111111111111111.')
}
