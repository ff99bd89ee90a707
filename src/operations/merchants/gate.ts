/**
 * Which merchants background work may be done for. Where merchants live in several cells, one that is being moved is left alone,
 * and so are rows that a move has left behind.
 */
import type { MerchantId } from '#domain/ids.ts'

/**
 * Undefined: the merchant is not here, or not now; claimed work becomes free again by itself. Otherwise a function to
 * call when the work has ended.
 */
export type Gate = (merchantId: MerchantId) => (() => void) | undefined

const nothing = (): void => {}

/** With one cell everybody lives there. */
export const openGate: Gate = () => nothing
