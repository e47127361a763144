import { ConfigError, SluiceError } from '../errors.js';
import { isRecord } from '../values.js';
import { issuesText } from './issueText.js';
import { isResult, lateSchema, type StandardProperties, type StandardSchema } from './standardSchema.js';

/** A parameter of a source, as far as its schema tells. */
export interface ParamDescription {
  readonly name: string;
  readonly isRequired: boolean;
  /** As JSON Schema names it, e.g. `string` or `number`. */
  readonly type?: string;
  readonly description?: string;
}

interface ParamCheck<Out> {
  readonly schema: StandardSchema<object, Out> | undefined;
  readonly known: readonly ParamDescription[] | undefined;
}

/**
 * The parameters that a source is asked with, as its schema makes them. Without one they are what the compiler has seen.
 *
 * @throws ConfigError if there is no such parameter, or the schema refuses one: what an API does not know, it may leave unsaid.
 */
export function decodeParams<Out>(name: string, { schema, known }: ParamCheck<Out>, given: object): Out {
  const unknown = known && Object.keys(given).find((param) => !known.some((each) => each.name === param));
  if (unknown !== undefined)
    throw new ConfigError(`${name} has no parameter ${JSON.stringify(unknown)}. ${thereAre(known)}`, {
      param: unknown,
    });
  if (!schema) return given as Out;
  const result = resultOf(schema, given);
  if (!isResult(result)) throw new ConfigError(`${name} refuses its parameters: ${lateSchema}.`);
  if (!result.issues) return result.value;
  const { path, what } = issuesText(result.issues, given);
  const param = path.replace(/^\./, '');
  const refused = param === '' ? 'its parameters' : `the parameter ${param}`;
  throw new ConfigError(`${name} refuses ${refused}: ${what}.`, { param, reason: what });
}

function thereAre(known: readonly ParamDescription[] = []): string {
  return known.length === 0 ? 'It has none.' : `There are: ${known.map(({ name }) => name).join(', ')}.`;
}

/** What a schema throws is its way to refuse. */
function resultOf<Out>(
  schema: StandardSchema<object, Out>,
  given: object,
): ReturnType<StandardProperties<object, Out>['validate']> {
  try {
    return schema['~standard'].validate(given);
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    return { issues: [{ message: String(error) }] };
  }
}

/**
 * What a schema tells of its parameters: all there are, or nothing. Libraries differ in whether they can, and a schema may take others
 * than it names.
 *
 * @see https://standardschema.dev/json-schema
 */
export function describeParams(schema: StandardSchema): readonly ParamDescription[] | undefined {
  const document = jsonSchemaOf(schema);
  if (!isRecord(document) || !isRecord(document['properties'])) return undefined;
  const { properties, required, additionalProperties = false } = document;
  if (additionalProperties !== false) return undefined;
  return Object.entries(properties).map(([name, property]) => {
    const { type, description } = isRecord(property) ? property : {};
    return {
      name,
      isRequired: Array.isArray(required) && required.includes(name),
      ...(typeof type === 'string' && { type }),
      ...(typeof description === 'string' && { description }),
    };
  });
}

/** Some libraries have no such form, and none has one of every schema. */
function jsonSchemaOf(schema: StandardSchema): unknown {
  const standard = schema['~standard'] as { readonly jsonSchema?: { input?: (options: object) => unknown } };
  try {
    return standard.jsonSchema?.input?.({ target: 'draft-2020-12' });
  } catch {
    return undefined;
  }
}
