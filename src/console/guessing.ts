/**
 * Limits against guessing. Failed sign-ins are counted for each pair of person and address, and for each address
 * regardless of the person. Checks under way count as well, so that a thousand simultaneous tries get no further.
 */

import { networkOf } from '#domain/network-address.ts'
import type { FailedLogins } from '#http/authentication/rate-limit.ts'

export interface Guesser {
  /** As typed; empty for a try with a passkey. */
  readonly email: string
  readonly address: string
}

export interface Guessing {
  /**
   * `over`: there were too many failures recently, and nothing was checked, so that even a right guess reveals nothing.
   */
  attempt<Found>(
    guesser: Guesser,
    check: () => Promise<Found | undefined>,
  ): Promise<{ readonly over: true } | { readonly over: false; readonly found: Found | undefined }>
}

interface GuessingDeps {
  /** Failures of one person from one address. */
  readonly ofPerson: FailedLogins
  /** Failures of all persons from one address. */
  readonly ofAddress: FailedLogins
  readonly onFailure: (guesser: Guesser) => Promise<void>
}

/** 3: a double click and a second tab. Each of them may be one guess more than the limit. */
const checkedOfPerson = 3
/** 12: an office that signs in at nine o'clock; each check of a password takes a tenth of a second of one core. */
const checkedOfAddress = 12

/** 50: about two seconds of work in all, because passwords are checked two at a time. */
const checkedOfAll = 50

/** The key under which all tries from one network are counted. */
const anybody = 'console anybody'

export function createGuessing({ ofPerson, ofAddress, onFailure }: GuessingDeps): Guessing {
  const checked = new Map<string, number>()
  let checkedNow = 0
  const move = (name: string, by: number): void => {
    const count = (checked.get(name) ?? 0) + by
    if (count > 0) checked.set(name, count)
    else checked.delete(name)
  }
  return {
    async attempt({ email, address }, check) {
      const client = `console ${email.toLowerCase()}`
      const network = networkOf(address)
      const person = `${network} ${client}`
      const isOver =
        ofPerson.isOver(client, address) ||
        ofAddress.isOver(anybody, address) ||
        (checked.get(person) ?? 0) >= checkedOfPerson ||
        (checked.get(network) ?? 0) >= checkedOfAddress ||
        checkedNow >= checkedOfAll
      if (isOver) return { over: true }
      for (const name of [person, network]) move(name, 1)
      checkedNow += 1
      try {
        const found = await check()
        if (found === undefined) {
          ofPerson.count(client, address)
          ofAddress.count(anybody, address)
          await onFailure({ email, address })
        }
        return { over: false, found }
      } finally {
        for (const name of [person, network]) move(name, -1)
        checkedNow -= 1
      }
    },
  }
}
