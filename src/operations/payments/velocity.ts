/**
 * Velocity limits against card testing: after too many declines of a card or from an address, no provider is
 * asked any more. What is blocked is kept in memory and refreshed from the database about once a second, so that the
 * usual payment costs a look into a map; a decline costs one statement.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { networkOf, plainAddress } from '#domain/network-address.ts'
import { type DeclineLimit, defaultDeclinesPerCard, noLimit } from '#domain/velocity.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Block, Subject, VelocityKind, VelocityStore } from '#storage/velocity.ts'

/** Whose declines count: the card by its fingerprint, the customer by the address. */
export interface Tried {
  readonly cardId?: string | undefined
  readonly address?: string | undefined
}

type Release = () => void

/** Places by name, so many of each: whoever finds none free waits in line. */
function createPlaces() {
  const lines = new Map<string, { taken: number; readonly waiting: (() => void)[] }>()
  return {
    async take(name: string, size: number): Promise<Release> {
      const line = lines.get(name) ?? { taken: 0, waiting: [] }
      lines.set(name, line)
      // Whoever leaves hands the place to the next one, so that it is never free in between.
      if (line.taken >= size) await new Promise<void>(resolve => line.waiting.push(resolve))
      else line.taken += 1
      return () => {
        const next = line.waiting.shift()
        if (next) return next()
        line.taken -= 1
        if (line.taken === 0) lines.delete(name)
      }
    },
  }
}

/** The address that the merchant gives for its customer; on our own pages the client's counts instead. */
export const triedBy = ({ instrument, details }: Pick<Payment, 'instrument' | 'details'>): Tried => {
  const browser = details.browserInfo
  // Credits have a browser object of their own, without this member.
  const address = browser && 'ipAddress' in browser ? browser.ipAddress : undefined
  return { cardId: instrument?.cardId, address }
}

/**
 * Whether a try is allowed at this moment of the merchant's time. Where as many tries with the same card or address are under
 * way as may be declined, it waits for one of them: tries that come all at once must not all pass for the first.
 */
export type Admit = (
  merchant: Merchant,
  tried: Tried,
  now: Date,
  crowds?: readonly Crowd[],
) => Promise<boolean>

/** Something else that only so many tries at a time may have in common. */
export interface Crowd {
  readonly name: string
  readonly size: number
}

export interface Velocity {
  /** Does the work, in which `admit` is asked once per try; a try counts as under way until the work is done. */
  limit<Result>(work: (admit: Admit) => Promise<Result>): Promise<Result>
  /** Of both, or of one of them where the other was counted elsewhere. */
  countDecline(merchant: Merchant, tried: Tried, now: Date, only?: VelocityKind): Promise<void>
  /** False when the payout would go beyond the merchant's limit. */
  reservePayout(merchant: Merchant, payout: PlannedPayout): Promise<boolean>
  releasePayout(merchant: Merchant, payoutId: string): Promise<void>
  /** Learns what other processes have counted. */
  refresh(): Promise<void>
  reap(): Promise<void>
}

export interface PlannedPayout {
  readonly payoutId: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly now: Date
}

export interface VelocityDeps {
  readonly store: VelocityStore
  readonly environment: 'test' | 'live'
  /** Fingerprints of the published test cards of a merchant: they exist to be declined, and never count in test. */
  readonly publishedCardIds: (merchantId: MerchantId) => ReadonlySet<string>
  /** How many other processes admit tries at the same time. */
  readonly countOthers: () => number
}

/** 100,000 blocked cards and addresses of about 150 bytes; those beyond are read again after their next decline. */
const blocksMax = 100_000

/** Limits of merchants that have set none. */
const defaults: Readonly<Record<'test' | 'live', Partial<Record<VelocityKind, DeclineLimit>>>> = {
  live: { CARD: defaultDeclinesPerCard },
  test: {},
}

const nameOf = ({ merchantId, kind, subject }: Subject): string => `${merchantId} ${kind} ${subject}`

type Judged = readonly [Subject, DeclineLimit]

/** Which limits a try falls under. */
function createJudge({
  environment,
  publishedCardIds,
}: Pick<VelocityDeps, 'environment' | 'publishedCardIds'>) {
  const limitOf = (merchant: Merchant, kind: VelocityKind): DeclineLimit | undefined => {
    const given = { CARD: merchant.declinesPerCard, ADDRESS: merchant.declinesPerAddress }[kind]
    if (given) return given === noLimit ? undefined : given
    return defaults[environment][kind]
  }
  return {
    /** What counts of a try, each with its limit; the card before the address. */
    judge(merchant: Merchant, { cardId, address }: Tried): readonly Judged[] {
      const { merchantId } = merchant
      const subjects: readonly [VelocityKind, string | undefined][] = [
        ['CARD', cardId],
        ['ADDRESS', address && networkOf(plainAddress(address) ?? address)],
      ]
      return subjects.flatMap(([kind, subject]): Judged[] => {
        const limit = subject === undefined ? undefined : limitOf(merchant, kind)
        return limit && subject !== undefined ? [[{ merchantId, kind, subject }, limit]] : []
      })
    },
    isPublished: ({ merchantId }: Merchant, { cardId }: Tried): boolean =>
      environment === 'test' && cardId !== undefined && publishedCardIds(merchantId).has(cardId),
  }
}

export function createVelocity(deps: VelocityDeps): Velocity {
  const { store, countOthers } = deps
  const { judge, isPublished } = createJudge(deps)
  const blocked = new Map<string, Date>()
  const places = createPlaces()
  let since: Date | undefined

  function learn({ blockedUntil, ...subject }: Block): void {
    const name = nameOf(subject)
    blocked.delete(name)
    if (blockedUntil && blocked.size < blocksMax) blocked.set(name, blockedUntil)
  }

  const isBlocked = (judged: readonly Judged[], now: Date): boolean =>
    judged.some(([subject]) => (blocked.get(nameOf(subject)) ?? now) > now)

  /** All processes together have as many tries under way as the limit, so no more than twice the limit are declined. */
  const shareOf = (size: number): number => Math.max(1, Math.floor(size / (1 + countOthers())))

  /** Every try takes its places in the same order of kinds, so that no two of them wait for each other. */
  const admitInto =
    (taken: Release[]): Admit =>
    async (merchant, tried, now, crowds = []) => {
      const judged = judge(merchant, tried)
      if (isBlocked(judged, now)) return false
      // A request that begins anew after a conflict has its places already.
      if (taken.length > 0 || isPublished(merchant, tried)) return true
      const limited = judged.map(([subject, { count }]) => ({ name: nameOf(subject), size: count }))
      for (const { name, size } of [...limited, ...crowds]) {
        taken.push(await places.take(name, shareOf(size)))
        if (isBlocked(judged, now)) return false
      }
      return true
    }

  return {
    async limit(work) {
      const taken: Release[] = []
      try {
        return await work(admitInto(taken))
      } finally {
        for (const release of taken) release()
      }
    },

    async countDecline(merchant, tried, now, only) {
      const counted = judge(merchant, tried).filter(([{ kind }]) => only === undefined || kind === only)
      if (counted.length === 0 || isPublished(merchant, tried)) return
      for (const [subject, limit] of counted)
        learn({ ...subject, blockedUntil: await store.countDecline(subject, limit, now) })
    },

    async refresh() {
      const { blocks, until } = await store.readChanges(since)
      since = until
      for (const block of blocks) learn(block)
    },

    reap: () => store.reap(),
    ...createPayoutLimit(store),
  }
}

const createPayoutLimit = (store: VelocityStore): Pick<Velocity, 'reservePayout' | 'releasePayout'> => ({
  async reservePayout({ merchantId, payoutLimits }, { payoutId, amount, now }) {
    if (!payoutLimits) return true
    const limit = payoutLimits.find(known => known.amount.currency === amount.currency)
    // A limit in one currency would be none if the others stayed open.
    if (!limit) return false
    return store.reservePayout({ merchantId, payoutId, amount: amount.value, limit, at: now })
  },

  async releasePayout({ merchantId, payoutLimits }, payoutId) {
    if (payoutLimits) await store.releasePayout(merchantId, payoutId)
  },
})
