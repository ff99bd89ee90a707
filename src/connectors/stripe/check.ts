/** Checks an account with one harmless call, and whether Stripe sends its notices to us. */
import type { CheckFinding, ProviderAccount } from '#connectors/contract.ts'
import type { StripeClient } from '#connectors/stripe/client.ts'
import { apiVersion, modeOfKey } from '#connectors/stripe/facts.ts'
import { eventTypes } from '#connectors/stripe/notices.ts'
import { describeError, readAnswer } from '#connectors/stripe/translate/outcomes.ts'
import { at, listAt, textAt, type Wire } from '#connectors/stripe/translate/wire.ts'

export async function checkAccount(
  account: ProviderAccount,
  client: StripeClient,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const reading = readAnswer(await client.get('/v1/payment_intents', { limit: 1 }, signal))
  if (reading.kind === 'none') {
    return [fail('credentials', 'Stripe could not be reached, or did not answer in its own format.')]
  }
  if (reading.kind === 'refused') return [fail('credentials', sayRefusal(reading.status, reading.error))]
  return [
    { name: 'credentials', ok: true, detail: 'Stripe accepts the secret key.' },
    sayMode(account, reading.object),
    sayVersion(reading.object, reading.headers),
    await checkEndpoint(account, client, signal),
  ]
}

const fail = (name: string, detail: string): CheckFinding => ({ name, ok: false, detail })

function sayRefusal(status: number, error: Wire): string {
  const words = describeError(error) ?? `status ${status}`
  if (textAt(error, 'code') === 'api_key_expired')
    return `The secret key has expired or was revoked: ${words}`
  if (status === 401) return `Stripe does not know the secret key: ${words}`
  if (status === 403) return `The secret key may not read payments: ${words}`
  return `Stripe refused the question: ${words}`
}

/** The mode of the key as a payment shows it, or, in a new account, as the key names it: sk_test_…, rk_live_…. */
function isLive({ secrets }: ProviderAccount, list: Wire): boolean | undefined {
  const shown = at(listAt(list, 'data')[0], 'livemode')
  if (typeof shown === 'boolean') return shown
  const mode = modeOfKey(secrets.secretKey?.reveal() ?? '')
  return mode === undefined ? undefined : mode === 'live'
}

/** A test-mode key in the live environment would accept test money for real orders. */
function sayMode(account: ProviderAccount, list: Wire): CheckFinding {
  const { environment } = account
  const live = isLive(account, list)
  if (live === undefined)
    return { name: 'mode', ok: true, detail: 'Nothing shows yet which mode the key belongs to.' }
  return live !== (environment === 'live')
    ? fail(
        'mode',
        `The key belongs to Stripe's ${live ? 'live' : 'test'} mode, the account to ${environment}.`,
      )
    : { name: 'mode', ok: true, detail: `The key fits the ${environment} environment.` }
}

/** Checks the fields that every outcome depends on: without them no answer would be trusted. */
function sayVersion(list: Wire, headers: Readonly<Record<string, string>>): CheckFinding {
  const answered = headers['stripe-version']
  if (answered !== undefined && answered !== apiVersion) {
    return fail('version', `We ask for API version ${apiVersion}, Stripe answers with ${answered}.`)
  }
  const [intent] = listAt(list, 'data')
  const missing = ['id', 'status', 'amount', 'currency'].filter(
    name => intent !== undefined && at(intent, name) === undefined,
  )
  return missing.length > 0
    ? fail('version', `Payment intents of API version ${apiVersion} lack ${missing.join(', ')}.`)
    : { name: 'version', ok: true, detail: `API version ${apiVersion}.` }
}

async function checkEndpoint(
  { accountId, environment }: ProviderAccount,
  client: StripeClient,
  signal: AbortSignal,
): Promise<CheckFinding> {
  const name = 'notices'
  const reading = readAnswer(await client.get('/v1/webhook_endpoints', { limit: 100 }, signal))
  if (reading.kind !== 'object') {
    return {
      name,
      ok: true,
      detail: 'This key may not list webhook endpoints: the notice address is not checked.',
    }
  }
  const path = `/providers/${accountId}/notices`
  const ours = listAt(reading.object, 'data').filter(
    endpoint => textAt(endpoint, 'url')?.endsWith(path) && textAt(endpoint, 'status') !== 'disabled',
  )
  if (ours.length === 0) {
    // In the sandbox Stripe's command line tool may forward events, so no endpoint is needed.
    const detail = `No enabled webhook endpoint at Stripe leads to …${path}.`
    return { name, ok: environment === 'test', detail }
  }
  const events = new Set(ours.flatMap(({ enabled_events: list }) => (Array.isArray(list) ? list : [])))
  const missing = events.has('*') ? [] : eventTypes.filter(type => !events.has(type))
  return missing.length > 0
    ? fail(name, `The webhook endpoint does not send ${missing.join(', ')}.`)
    : { name, ok: true, detail: `Stripe sends its events to …${path}.` }
}
