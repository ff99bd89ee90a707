/**
 * A value that must not be printed: card number, security code, key. Code that needs the value calls `reveal()`, which
 * is easy to search for; JSON, templates and the inspector get a placeholder.
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
