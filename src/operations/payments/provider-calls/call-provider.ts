/**
 * Calls a provider: never inside a transaction, always with a timeout, and without trusting an answer that does not
 * belong to the request. Every error here becomes one of the six outcomes.
 */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { CustomerActionOutcome, Outcome } from '#lifecycle/outcome.ts'
import type { Engine } from '#operations/engine.ts'

/**
 * 20 s: shorter than the 30 s at which merchants' clients commonly give up, so that they still get our PENDING answer.
 */
const longestCallMs = 20_000

/** A request that certainly never arrived is sent again at most twice. */
const maximumSends = 3

/**
 * 2 s: what a customer or a shop can wait in addition to the call itself. If a provider asks us to wait longer, the
 * request is not sent again.
 */
const longestWaitMs = 2_000

export interface Question {
  readonly operation: string
  readonly reference: XId
  readonly amount: Money
}

export interface CallContext {
  readonly question: Question
  /** The provider's timeout for one call. */
  readonly timeoutMs: number
  /** Set for a request with an effect, which this process has recorded as SENT; an inquiry has no effect. */
  readonly isSent?: boolean
  /** How much longer the provider has asked us to wait (429, Retry-After). */
  readonly waitMs?: () => number
  /** There is another account to fail over to, so this call need not wait. */
  readonly hasOther?: boolean
  readonly engine: Pick<Engine, 'onAlarm' | 'isAlive' | 'sendings' | 'clock'>
}

/** How to call the provider, how to read the outcome from its answer, and the result if there is no answer. */
export interface ProviderCall<T> {
  readonly ask: (send: number, signal: AbortSignal) => Promise<T>
  readonly outcomeOf: (answer: T) => Outcome | CustomerActionOutcome
  readonly withoutAnswer: T
}

/** Sends the request, and sends it again only if it certainly never arrived. */
export async function callProvider<T>(call: ProviderCall<T>, context: CallContext): Promise<T> {
  try {
    let answer = await askOnce(call, 1, context)
    for (let send = 2; send <= maximumSends && call.outcomeOf(answer).kind === 'unreached'; send += 1) {
      if (!(await waitAsAsked(context))) return answer
      answer = await askOnce(call, send, context)
    }
    return answer
  } finally {
    if (context.isSent) context.engine.sendings.end(context.question.reference)
  }
}

/** Returns whether the request may be sent again. */
async function waitAsAsked({ waitMs, hasOther, engine }: CallContext): Promise<boolean> {
  const asked = waitMs?.() ?? 0
  if (asked > (hasOther ? 0 : longestWaitMs)) return false
  if (asked > 0) await engine.clock.waitMs(asked)
  return true
}

/** `callProvider` for calls that answer with one outcome, with the check of its echo. */
export async function callForOutcome(
  ask: (send: number, signal: AbortSignal) => Promise<Outcome>,
  context: CallContext,
): Promise<Outcome> {
  const call: ProviderCall<Outcome> = {
    ask,
    outcomeOf: outcome => outcome,
    withoutAnswer: { kind: 'unknown' },
  }
  return verifyEcho(await callProvider(call, context), context)
}

/** Aborts a call that takes too long, and does not wait for a connector that ignores the abort. */
async function askOnce<T>(
  { ask, withoutAnswer }: ProviderCall<T>,
  send: number,
  { question, timeoutMs, isSent, engine }: CallContext,
): Promise<T> {
  if (isSent ? !engine.sendings.maySend(question.reference) : !engine.isAlive()) {
    const message = `${question.operation} was not sent: this process was frozen or cut off from the database, and others may have taken over its work`
    engine.onAlarm({ code: 'PROCESS_CUT_OFF', message, xId: question.reference })
    return withoutAnswer
  }
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(
      () => {
        controller.abort(new Error('the provider took too long'))
        resolve(withoutAnswer)
      },
      Math.min(timeoutMs, longestCallMs),
    )
  })
  try {
    return await Promise.race([ask(send, controller.signal), deadline])
  } catch (error) {
    // If a connector throws, it is unknown what the provider did.
    if (!controller.signal.aborted)
      engine.onAlarm({
        code: 'CONNECTOR_THREW',
        message: `the connector threw an error during ${question.operation}; an inquiry will find out what happened`,
        xId: question.reference,
        error,
      })
    return withoutAnswer
  } finally {
    clearTimeout(timer)
  }
}

/** If the provider echoes another amount, currency or reference than we sent, the outcome is unknown. */
export function verifyEcho<T extends Outcome | CustomerActionOutcome>(
  outcome: T,
  { question, engine }: { readonly question: Question; readonly engine: Pick<Engine, 'onAlarm'> },
): T | Extract<Outcome, { kind: 'unknown' }> {
  if (outcome.kind === 'unknown' && outcome.reason !== undefined)
    engine.onAlarm({
      code: 'ANSWER_NOT_UNDERSTOOD',
      message: `the provider's answer to ${question.operation} was not understood: ${outcome.reason}`,
      xId: question.reference,
    })
  if (!('provider' in outcome)) return outcome
  const { echo, responseText } = outcome.provider
  if (outcome.kind === 'declined' && outcome.callRefused)
    engine.onAlarm({
      code: 'CREDENTIALS_REFUSED',
      message: `the provider refused our credentials for ${question.operation}: ${responseText ?? 'no reason given'}`,
      xId: question.reference,
    })
  const same =
    echo.reference === question.reference &&
    echo.amount.value === question.amount.value &&
    echo.amount.currency === question.amount.currency
  if (same) return outcome
  engine.onAlarm({
    code: 'ANSWER_MISMATCH',
    message: `the provider's answer to ${question.operation} names another reference or amount and is not believed`,
    xId: question.reference,
  })
  return { kind: 'unknown', reason: 'it names another reference or amount' }
}
