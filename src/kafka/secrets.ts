/** Keeps the secrets it was told out of texts. */
export class Secrets {
  readonly #known = new Set<string>()

  add(...secrets: readonly (string | undefined)[]): void {
    for (const secret of secrets) {
      if (secret === undefined || secret === '') continue
      this.#known.add(secret)
      // A key that a message quotes in part.
      for (const line of secret.split('\n'))
        if (line.length >= 20 && !line.startsWith('-----')) this.#known.add(line)
    }
  }

  /** The text with each known secret replaced. */
  scrub(text: string): string {
    let scrubbed = text
    for (const secret of this.#known) scrubbed = scrubbed.replaceAll(secret, '***')
    return scrubbed
  }
}

/** Settings whose value is a secret, by name. */
export function isSecretName(name: string): boolean {
  return /password|secret|key\.pem|jaas|token|sasl\.oauthbearer\.(assertion|config)/.test(name)
}
