/**
 * A value that must not be printed: card number, security code, key. Code that needs it calls `reveal()`, which makes
 * every such place easy to find; JSON, templates and the inspector see a placeholder.
 */
const placeholder = '[secret]'

export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return placeholder
  }

  toJSON(): string {
    return placeholder
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return placeholder
  }
}
