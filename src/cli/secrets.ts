const known = new Set<string>()

/** A shorter secret would take half of every line with it; the adapters do not print secrets to begin with. */
const shortest = 4

/** From now on `scrubSecrets` takes this text out of everything the command line prints. */
export function rememberSecret(secret: string): void {
  if (secret.length < shortest) return
  known.add(secret)
  // The same secret as it looks inside a JSON log line and inside a URL.
  known.add(JSON.stringify(secret).slice(1, -1))
  known.add(encodeURIComponent(secret))
}

/** Remembers each password of a database's address, which may be unreadable otherwise. */
export function rememberUrlSecrets(url: string): void {
  for (const secret of urlSecrets(url)) rememberSecret(secret)
}

/** The passwords in an address, as they stand there and as they are meant. */
export function urlSecrets(url: string): readonly string[] {
  if (!URL.canParse(url)) return []
  const { password, searchParams } = new URL(url)
  return [password, decoded(password), ...searchParams.getAll('password')].filter(Boolean)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text without any remembered secret: the last line of defence for errors of other libraries. */
export function scrubSecrets(text: string): string {
  let scrubbed = text
  for (const secret of known) scrubbed = scrubbed.replaceAll(secret, '***')
  return scrubbed
}
