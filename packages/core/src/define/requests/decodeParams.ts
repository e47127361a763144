import { hintFor } from '../../checks.js';
import { ConfigError, SluiceError } from '../../errors.js';
import { isRecord } from '../../values.js';
import { issuesText } from '../responses/issueText.js';
import { isResult, asyncSchemaText, type StandardProperties, type StandardSchema } from '../standardSchema.js';

/** A parameter of a source, from its schema. */
export interface ParamDescription {
  readonly name: string;
  readonly isRequired: boolean;
  /** The JSON Schema type, e.g. `string` or `number`. */
  readonly type?: string;
  readonly description?: string;
  /** Its flag on a command line, without dashes. Default: its name in kebab case. */
  readonly flag?: string;
  /** The flag of a file with one value per line, without dashes; of a list only. Default: none. */
  readonly fileFlag?: string;
  /** What separates values in one argument of its flag; of a list only. Default: an argument is a value. */
  readonly separator?: string;
}

interface ParamCheck<Out> {
  readonly schema: StandardSchema<object, Out> | undefined;
  readonly known: readonly ParamDescription[] | undefined;
}

/**
 * Validates the parameters of a source with its schema. Without a schema, only the compiler checks them.
 *
 * @throws ConfigError if a parameter is unknown or refused by the schema: the API itself may ignore unknown ones.
 */
export function decodeParams<Out>(name: string, { schema, known }: ParamCheck<Out>, given: object): Out {
  const names = known?.map((each) => each.name) ?? Object.keys(given);
  const param = Object.keys(given).find((each) => !names.includes(each));
  if (param !== undefined)
    throw new ConfigError(`${name} has no parameter ${JSON.stringify(param)}. ${hintFor(param, names)}`, { param });
  if (!schema) return given as Out;
  const result = resultOf(schema, given);
  if (!isResult(result)) throw new ConfigError(`${name} refuses its parameters: ${asyncSchemaText}.`);
  if (!result.issues) return result.value;
  const { path, what } = issuesText(result.issues, given);
  const place = path.replace(/^\./, '');
  const refused = place === '' ? 'its parameters' : `the parameter ${place}`;
  throw new ConfigError(`${name} refuses ${refused}: ${what}.`, { param: place, reason: what });
}

/** A schema that throws refuses the value. */
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
 * The parameters of a schema; `undefined` if the library cannot list them, or the schema accepts others as well.
 *
 * @see https://standardschema.dev/json-schema
 */
export function describeParams(schema: StandardSchema): readonly ParamDescription[] | undefined {
  const document = jsonSchemaOf(schema);
  if (!isRecord(document) || !isRecord(document['properties'])) return undefined;
  const { properties, required, additionalProperties = false } = document;
  if (additionalProperties !== false) return undefined;
  return Object.entries(properties).map(([name, property]) => {
    const { type, description, flag, fileFlag, separator } = isRecord(property) ? property : {};
    return {
      name,
      isRequired: Array.isArray(required) && required.includes(name),
      ...(typeof type === 'string' && { type }),
      ...(typeof description === 'string' && { description }),
      ...(typeof flag === 'string' && { flag }),
      ...(typeof fileFlag === 'string' && { fileFlag }),
      ...(typeof separator === 'string' && { separator }),
    };
  });
}

/** `undefined` if the library or the schema does not support JSON Schema. */
function jsonSchemaOf(schema: StandardSchema): unknown {
  const standard = schema['~standard'] as { readonly jsonSchema?: { input?: (options: object) => unknown } };
  try {
    return standard.jsonSchema?.input?.({ target: 'draft-2020-12' });
  } catch {
    return undefined;
  }
}
