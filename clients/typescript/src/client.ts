/** The client: one method for each operation of the gateway, grouped by subject. */
import type { TollgateError } from './errors.ts'
import { type Operations, routes } from './generated.ts'
import {
  type CallOptions,
  createTransport,
  type Ending,
  makeKey,
  type TollgateOptions,
  type Unanswered,
} from './transport.ts'

type Name = keyof Operations
type Body<K extends Name> = Operations[K]['body']
type Query<K extends Name> = Operations[K]['query']
type Answer<K extends Name> = Operations[K]['answer']
/** The gateway wants a page here; the client begins with the first one. */
type PagedQuery<K extends 'listCustomers' | 'listPaymentPlans'> = Omit<Query<K>, 'page'> & {
  readonly page?: number
}
type Item<K extends Name> = Answer<K> extends { readonly data: readonly (infer One)[] } ? One : never

/**
 * Nobody knows yet: the answers to all attempts were lost, or your signal ended the call after it was sent. The payment may or
 * may not have happened, so do not treat it as failed. Send the same request with the same `idempotencyKey` again, or look the
 * payment up by its transId.
 */
export interface UnknownOutcome {
  readonly status: 'PENDING'
  readonly responseCode: '60000200'
  readonly responseDescription: string
  readonly idempotencyKey: string
  /** What the request itself named. */
  readonly payId?: string
  readonly paymentIntentId?: string
  readonly transId?: string
  readonly xId?: undefined
  readonly _links?: undefined
  /** Why there is no answer. */
  readonly cause: TollgateError
}

/** Of an operation that moves money. `status` is PENDING in both cases in which the outcome is open. */
export type Outcome<T> = T | UnknownOutcome

/** Whether no answer of the gateway came at all. A PENDING with a payId of the gateway's answer is not this. */
export const isUnknown = (outcome: Outcome<{ readonly responseCode: string }>): outcome is UnknownOutcome =>
  'cause' in outcome && outcome.cause !== undefined

/** As with `fetch`, a call that its own signal has ended rejects with the reason of the signal. */
const toThrown = ({ error, aborted }: Unanswered, { signal }: CallOptions): unknown =>
  aborted ? signal?.reason : error

interface Input {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
}

export class Tollgate {
  readonly #send: <T>(
    name: Name,
    input: Input,
    options: CallOptions,
  ) => Promise<Ending<T> & { readonly key: string }>

  constructor(options: TollgateOptions) {
    const transport = createTransport(options)
    this.#send = async (name, { path = {}, query = {}, body }, { idempotencyKey, signal }) => {
      const [verb, pattern] = routes[name]
      const key = idempotencyKey ?? makeKey()
      const writes = verb === 'POST' || verb === 'PATCH'
      const ending = await transport.send<never>({
        verb,
        path: fillPath(pattern, path) + toQuery(query),
        ...(body === undefined ? {} : { body }),
        ...(writes ? { key } : {}),
        ...(signal ? { signal } : {}),
      })
      return { ...ending, key }
    }
  }

  async #call<K extends Name>(name: K, input: Input, options: CallOptions = {}): Promise<Answer<K>> {
    const ending = await this.#send<Answer<K>>(name, input, options)
    if ('error' in ending) throw toThrown(ending, options)
    return ending.answer
  }

  async #move<K extends Name>(name: K, input: Input, options: CallOptions = {}): Promise<Outcome<Answer<K>>> {
    const ending = await this.#send<Answer<K>>(name, input, options)
    if ('answer' in ending) return ending.answer
    if (!ending.unsure) throw toThrown(ending, options)
    const { transId } = (input.body ?? {}) as { transId?: string }
    return {
      status: 'PENDING',
      responseCode: '60000200',
      responseDescription: 'The answer was lost: the outcome is not known yet.',
      idempotencyKey: ending.key,
      ...nameObject(name, input.path?.id),
      ...(transId === undefined ? {} : { transId }),
      cause: ending.error,
    }
  }

  /** Every item of a list, page after page, whether the list has cursors or numbered pages. */
  async *#each<K extends Name>(
    name: K,
    query: object = {},
    path: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<Item<K>, void, void> {
    let next: object | undefined = query
    while (next) {
      const page = (await this.#call(name, { path, query: next })) as Page<Item<K>>
      yield* page.data
      next = nextQuery(query, page)
    }
  }

  readonly payments = {
    create: (body: Body<'createPayment'>, options?: CallOptions) =>
      this.#move('createPayment', { body }, options),
    /** A page of the gateway on which the customer chooses the method: send them to `_links.redirect.href`. */
    createSession: (body: Body<'createSession'>, options?: CallOptions) =>
      this.#call('createSession', { body }, options),
    confirm: (id: string, body: Body<'confirmPayment'>, options?: CallOptions) =>
      this.#move('confirmPayment', { path: { id }, body }, options),
    capture: (id: string, body: Body<'capturePayment'>, options?: CallOptions) =>
      this.#move('capturePayment', { path: { id }, body }, options),
    refund: (id: string, body: Body<'refundPayment'>, options?: CallOptions) =>
      this.#move('refundPayment', { path: { id }, body }, options),
    reverse: (id: string, body: Body<'reversePayment'>, options?: CallOptions) =>
      this.#move('reversePayment', { path: { id }, body }, options),
    increment: (id: string, body: Body<'incrementPayment'>, options?: CallOptions) =>
      this.#move('incrementPayment', { path: { id }, body }, options),
    /** Pays out without a payment behind it. */
    credit: (body: Body<'creditWithoutReference'>, options?: CallOptions) =>
      this.#move('creditWithoutReference', { body }, options),
    update: (id: string, body: Body<'updatePayment'>, options?: CallOptions) =>
      this.#call('updatePayment', { path: { id }, body }, options),
    cancel: (id: string, body: Body<'cancelPayment'> = {}, options?: CallOptions) =>
      this.#move('cancelPayment', { path: { id }, body }, options),
    get: (id: string) => this.#call('getPaymentByPayId', { path: { id } }),
    getByTransId: (id: string) => this.#call('getPaymentByTransId', { path: { id } }),
    list: (query?: Query<'listPayments'>) => this.#each('listPayments', query),
    methods: (query?: Query<'listPaymentMethods'>) => this.#call('listPaymentMethods', { query }),
  }

  readonly links = {
    create: (body: Body<'createLink'>, options?: CallOptions) => this.#call('createLink', { body }, options),
    get: (id: string) => this.#call('getLink', { path: { id } }),
    update: (id: string, body: Body<'updateLink'>, options?: CallOptions) =>
      this.#call('updateLink', { path: { id }, body }, options),
    list: (query?: Query<'listLinks'>) => this.#each('listLinks', query),
  }

  readonly intents = {
    create: (body: Body<'createPaymentIntent'>, options?: CallOptions) =>
      this.#call('createPaymentIntent', { body }, options),
    get: (id: string) => this.#call('getPaymentIntent', { path: { id } }),
    /** Pays the intent. Apps do this with the intent's own token; a server may do it with its key. */
    confirm: (id: string, body: Body<'confirmPaymentIntent'>, options?: CallOptions) =>
      this.#move('confirmPaymentIntent', { path: { id }, body }, options),
    cancel: (id: string, options?: CallOptions) =>
      this.#call('cancelPaymentIntent', { path: { id } }, options),
  }

  readonly customers = {
    get: (id: string) => this.#call('getCustomer', { path: { id } }),
    update: (id: string, body: Body<'updateCustomer'>, options?: CallOptions) =>
      this.#call('updateCustomer', { path: { id }, body }, options),
    delete: (id: string, query?: Query<'deleteCustomer'>) =>
      this.#call('deleteCustomer', { path: { id }, query }),
    list: (query?: PagedQuery<'listCustomers'>) => this.#each('listCustomers', { page: 1, ...query }),
    methods: (id: string) => this.#call('listStoredMethods', { path: { id } }),
    plans: (customerId: string) => this.#each('listCustomerPlans', {}, { customerId }),
    getMethod: (customerId: string, paymentMethodId: string) =>
      this.#call('getStoredMethod', { path: { customerId, paymentMethodId } }),
    deleteMethod: (customerId: string, paymentMethodId: string) =>
      this.#call('deleteStoredMethod', { path: { customerId, paymentMethodId } }),
  }

  readonly plans = {
    get: (paymentPlanId: string) => this.#call('getPaymentPlan', { path: { paymentPlanId } }),
    list: (query?: PagedQuery<'listPaymentPlans'>) => this.#each('listPaymentPlans', { page: 1, ...query }),
    payments: (paymentPlanId: string) => this.#each('listPlanPayments', {}, { paymentPlanId }),
    charge: (paymentPlanId: string, body: Body<'chargePaymentPlan'>, options?: CallOptions) =>
      this.#move('chargePaymentPlan', { path: { paymentPlanId }, body }, options),
    chargeUnscheduled: (body: Body<'createUnscheduledPayment'>, options?: CallOptions) =>
      this.#move('createUnscheduledPayment', { body }, options),
    update: (paymentPlanId: string, body: Body<'updatePaymentPlan'>, options?: CallOptions) =>
      this.#call('updatePaymentPlan', { path: { paymentPlanId }, body }, options),
    pause: (paymentPlanId: string, options?: CallOptions) =>
      this.#call('pausePaymentPlan', { path: { paymentPlanId } }, options),
    resume: (paymentPlanId: string, body: Body<'resumePaymentPlan'> = {}, options?: CallOptions) =>
      this.#call('resumePaymentPlan', { path: { paymentPlanId }, body }, options),
    cancel: (paymentPlanId: string, body: Body<'cancelPaymentPlan'> = {}, options?: CallOptions) =>
      this.#call('cancelPaymentPlan', { path: { paymentPlanId }, body }, options),
  }

  readonly events = {
    get: (id: string) => this.#call('getEvent', { path: { id } }),
    list: (query?: Query<'listEvents'>) => this.#each('listEvents', query),
    replay: (id: string, body: Body<'replayEvent'>, options?: CallOptions) =>
      this.#call('replayEvent', { path: { id }, body }, options),
  }

  readonly disputes = {
    get: (id: string) => this.#call('getDispute', { path: { id } }),
    list: (query?: Query<'listDisputes'>) => this.#each('listDisputes', query),
    accept: (id: string, body: Body<'acceptDispute'>, options?: CallOptions) =>
      this.#call('acceptDispute', { path: { id }, body }, options),
    submitEvidence: (id: string, body: Body<'submitEvidence'>, options?: CallOptions) =>
      this.#call('submitEvidence', { path: { id }, body }, options),
  }

  readonly operations = { list: (query?: Query<'listOperations'>) => this.#each('listOperations', query) }

  readonly settlements = { list: (query?: Query<'listSettlements'>) => this.#each('listSettlements', query) }

  readonly services = {
    checkDuplication: (body: Body<'checkDuplication'>) => this.#call('checkDuplication', { body }),
    updateAccounts: (body: Body<'updateAccounts'>) => this.#call('updateAccounts', { body }),
    lookUpBin: (body: Body<'lookUpBin'>) => this.#call('lookUpBin', { body }),
    quoteConversion: (body: Body<'quoteConversion'>) => this.#call('quoteConversion', { body }),
    exchangeNumber: (body: Body<'exchangeNumber'>) => this.#call('exchangeNumber', { body }),
  }

  /** Levers of the test environment; live answers 404. */
  readonly test = {
    catalogue: () => this.#call('getTestCatalogue', {}),
    clock: () => this.#call('getTestClock', {}),
    moveClock: (body: Body<'moveTestClock'>) => this.#call('moveTestClock', { body }),
    addFault: (body: Body<'addTestFault'>) => this.#call('addTestFault', { body }),
    faults: () => this.#call('listTestFaults', {}),
    clearFaults: () => this.#call('clearTestFaults', {}),
    takeCustomerAction: (payId: string, body: Body<'takeCustomerAction'>) =>
      this.#call('takeCustomerAction', { path: { payId }, body }),
    sendEvent: (payId: string, body: Body<'sendSampleEvent'>) =>
      this.#call('sendSampleEvent', { path: { payId }, body }),
  }
}

const nameObject = (name: Name, id: string | undefined): { payId?: string; paymentIntentId?: string } => {
  if (id === undefined) return {}
  return name === 'confirmPaymentIntent' ? { paymentIntentId: id } : { payId: id }
}

interface Page<T> {
  readonly data: readonly T[]
  readonly nextCursor?: string
  readonly page?: number
  readonly totalNumberOfPages?: number
}

function nextQuery(
  query: object,
  { nextCursor, page, totalNumberOfPages }: Page<unknown>,
): object | undefined {
  if (nextCursor !== undefined) return { ...query, cursor: nextCursor }
  if (page !== undefined && totalNumberOfPages !== undefined && page < totalNumberOfPages)
    return { ...query, page: page + 1 }
  return undefined
}

const fillPath = (pattern: string, values: Readonly<Record<string, string>>): string =>
  pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (!value) throw new TypeError(`${name} must not be empty`)
    // Part of no id. A URL would drop them together with what is in front, so that another endpoint would be called.
    if (value === '.' || value === '..') throw new TypeError(`${name} is "${value}", which is no id`)
    return encodeURIComponent(value)
  })

function toQuery(values: object): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}
