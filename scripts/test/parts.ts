import type { Need } from './needs.ts'

/** A group of test files that is run, or left out, as one. */
export interface Part {
  readonly name: string
  /** Globs below `test/`. Each test file belongs to exactly one part. */
  readonly files: readonly string[]
  /** What has to be there; without it the part is left out, or a failure with `REQUIRE=all`. */
  readonly needs: readonly Need[]
  /** How many files run at once. Default 1. */
  readonly concurrency?: number
  /** How long one file may take, in minutes. Default 5. */
  readonly minutes?: number
}

/** The parts in the order they run: the quick ones first. */
export const parts: readonly Part[] = [
  { name: 'structure', files: ['structure/*.test.ts'], needs: [] },
  {
    name: 'unit',
    files: ['*.test.ts', '{codecs,engine,rows,testing,scripts}/**/*.test.ts'],
    needs: [],
    concurrency: 2,
  },
  { name: 'model', files: ['model/*.test.ts'], needs: [], minutes: 10 },
  { name: 'docs', files: ['docs/*.test.ts'], needs: [] },
  { name: 'contract: memory', files: ['contract/*-memory.test.ts'], needs: [] },
  { name: 'contract: sqlite', files: ['contract/*-sqlite.test.ts'], needs: [] },
  { name: 'contract: pglite', files: ['contract/*-pglite.test.ts'], needs: [], minutes: 10 },
  { name: 'sql', files: ['sql/*.test.ts'], needs: [], minutes: 10 },
  { name: 'contract: model', files: ['contract/*-model.test.ts'], needs: [], minutes: 10 },
  { name: 'embedded', files: ['embedded/**/*.test.ts'], needs: [], minutes: 10 },
  { name: 'patterns', files: ['patterns/**/!(kafka-*|postgres-*|redis-*).test.ts'], needs: [] },
  { name: 'cases', files: ['cases/**/!(kafka-*|postgres-*).test.ts'], needs: [], minutes: 10 },
  { name: 'crash', files: ['crash/**/!(kafka-*).test.ts'], needs: [], minutes: 10 },
  {
    name: 'command line',
    files: ['cli/**/!(kafka-*|postgres-*).test.ts'],
    needs: [],
    minutes: 10,
  },
  { name: 'examples', files: ['examples/**/!(kafka-*).test.ts'], needs: [], minutes: 10 },
  { name: 'package', files: ['package/*.test.ts'], needs: ['build', 'registry'], minutes: 10 },
  {
    name: 'contract: postgres',
    files: ['contract/*-postgres.test.ts'],
    needs: ['postgres'],
    minutes: 10,
  },
  { name: 'postgres', files: ['postgres/**/*.test.ts'], needs: ['postgres'], minutes: 10 },
  { name: 'redis', files: ['redis/**/*.test.ts'], needs: ['redis'] },
  { name: 'mysql', files: ['mysql/**/*.test.ts'], needs: ['mysql'], minutes: 10 },
  { name: 'contract: kafka', files: ['contract/*-kafka.test.ts'], needs: ['kafka'], minutes: 10 },
  { name: 'kafka', files: ['kafka/**/*.test.ts'], needs: ['kafka'], minutes: 10 },
  {
    name: 'on kafka',
    files: ['{cases,crash,cli,examples,patterns}/**/kafka-!(postgres-*).test.ts'],
    needs: ['kafka'],
    minutes: 10,
  },
  {
    name: 'on postgres',
    files: ['{cases,cli,patterns}/**/postgres-*.test.ts'],
    needs: ['postgres'],
    minutes: 10,
  },
  {
    name: 'on kafka and postgres',
    files: ['{cases,cli,patterns}/**/kafka-postgres-*.test.ts'],
    needs: ['kafka', 'postgres'],
    minutes: 10,
  },
  {
    name: 'guarantees',
    files: ['guarantees/**/*.test.ts'],
    needs: ['kafka', 'postgres'],
    concurrency: 2,
    minutes: 10,
  },
]
